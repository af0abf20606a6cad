/** An Envoy that waits for a processor that is merely late, for tests in which a busy machine is not what is tested. */
import { connectionManager, type EnvoyConfig, type HttpFilter } from '../../harness/stack.ts';

/** For `mutateEnvoy`: a minute until either filter fails open. */
export function waitLong(config: EnvoyConfig): void {
  for (const { name, typed_config } of connectionManager(config, 'ingress').http_filters) {
    const own = (typed_config['extension_config'] as HttpFilter | undefined)?.typed_config ?? typed_config;
    if (name.startsWith('coalesce.')) own['message_timeout'] = '60s';
  }
}
