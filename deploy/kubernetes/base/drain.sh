#!/usr/bin/env bash
# preStop of Envoy: readiness says no and connections are ended after their answer, then it waits until no exchange is left.
# It needs bash alone, which Envoy's image has. Envoy itself ends at once on SIGTERM, which comes when this has ended.
set -uo pipefail
port="${ENVOY_ADMIN_PORT:-9901}"
# The time until the gateway's clients and load balancers have heard.
settle_seconds="${SETTLE_SECONDS:-5}"
# Below terminationGracePeriodSeconds, so that the processor has time left after Envoy.
limit_seconds="${LIMIT_SECONDS:-1860}"

admin() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf '%s %s HTTP/1.1\r\nhost: admin\r\ncontent-length: 0\r\nconnection: close\r\n\r\n' "$1" "$2" >&3
  cat <&3
  exec 3>&-
}

active() {
  local sum=0 line
  while IFS= read -r line; do
    line="${line%$'\r'}"
    case "$line" in http.ingress.downstream_rq_active:* | http.egress.downstream_rq_active:*) sum=$((sum + ${line##*: })) ;; esac
  done < <(admin GET '/stats?filter=downstream_rq_active')
  echo "$sum"
}

# Without an admin address there is nothing to wait for.
admin POST /healthcheck/fail >/dev/null 2>&1 || exit 0
sleep "$settle_seconds"
while [ "$(active)" -gt 0 ] && [ "$SECONDS" -lt "$limit_seconds" ]; do sleep 1; done
