/**
 * The image's health check, which needs no shell: exit 0 where the processor answers at its admin address. It asks
 * /healthz and not /readyz, since a processor that drains is healthy. HEALTHCHECK_URL names another address.
 */
const url = process.env.HEALTHCHECK_URL ?? 'http://127.0.0.1:9003/healthz';

try {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  if (!response.ok) throw new Error(`${response.status}`);
} catch (error) {
  console.error(`${url}: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
