/** The ext_proc filters before the no-op processors: the least that Envoy can be told, in four modes. */
import { connectionManager, type EnvoyConfig, setClusterPort } from '../../harness/stack.ts';

export type NoopMode = 'headers' | 'attached' | 'immediate';

const off = {
  request_header_mode: 'SEND',
  request_body_mode: 'NONE',
  request_trailer_mode: 'SKIP',
  response_header_mode: 'SKIP',
  response_body_mode: 'NONE',
  response_trailer_mode: 'SKIP',
} as const;

const modes: Readonly<Record<NoopMode, Readonly<Record<string, string>>>> = {
  headers: off,
  /** What decide asks for an attached leader. */
  attached: {
    ...off,
    request_body_mode: 'BUFFERED',
    response_header_mode: 'SEND',
    response_body_mode: 'STREAMED',
    response_trailer_mode: 'SEND',
  },
  /** A streamed immediate response needs the request in full duplex, or no body at all. */
  immediate: { ...off, request_body_mode: 'FULL_DUPLEX_STREAMED', request_trailer_mode: 'SEND' },
};

/** Puts one filter in the place of our two, before a processor on `port`. */
export function useNoop(config: EnvoyConfig, mode: NoopMode, port: number): void {
  const manager = connectionManager(config, 'ingress');
  const others = manager.http_filters.filter(({ name }) => !name.startsWith('coalesce.'));
  const filter = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor',
    grpc_service: { envoy_grpc: { cluster_name: 'coalescer' }, timeout: '0s' },
    stat_prefix: 'noop',
    message_timeout: '10s',
    failure_mode_allow: mode !== 'immediate',
    processing_mode: modes[mode],
  };
  manager.http_filters = [{ name: 'noop', typed_config: filter }, ...others];
  setClusterPort(config, 'coalescer', port);
}
