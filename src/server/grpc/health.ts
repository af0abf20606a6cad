/** `grpc.health.v1.Health`: one state for the whole server, told on request and to those who watch. */

import type { ServerWritableStream, sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';

import type { HealthHandlers, HealthRequest, HealthResponse } from './service-definition.ts';

const SERVICES: readonly string[] = ['', 'envoy.service.ext_proc.v3.ExternalProcessor', 'grpc.health.v1.Health'];

type Watcher = ServerWritableStream<HealthRequest, HealthResponse>;

/** Whether the server takes new work, and those who want to know when that changes. */
export class HealthState {
  #serving = true;
  readonly #watchers = new Set<Watcher>();

  get serving(): boolean {
    return this.#serving;
  }

  /** From now on NOT_SERVING; watchers are told and their streams ended, so that they hold up no shutdown. */
  stopServing(): void {
    this.#serving = false;
    for (const watcher of this.#watchers) {
      watcher.write({ status: 'NOT_SERVING' });
      watcher.end();
    }
    this.#watchers.clear();
  }

  watch(watcher: Watcher): void {
    watcher.write({ status: this.#serving ? 'SERVING' : 'NOT_SERVING' });
    if (!this.#serving) {
      watcher.end();
      return;
    }
    this.#watchers.add(watcher);
    watcher.on('cancelled', () => this.#watchers.delete(watcher));
    watcher.on('close', () => this.#watchers.delete(watcher));
  }
}

/** An unknown service is NOT_FOUND for Check and SERVICE_UNKNOWN for Watch, as the protocol has it. */
export function healthHandlers(state: HealthState): HealthHandlers {
  return {
    Check: (call: ServerUnaryCall<HealthRequest, HealthResponse>, answer: sendUnaryData<HealthResponse>) => {
      if (!SERVICES.includes(call.request.service)) {
        answer({ code: status.NOT_FOUND, details: 'no such service' });
        return;
      }
      answer(null, { status: state.serving ? 'SERVING' : 'NOT_SERVING' });
    },
    Watch: (call) => {
      if (SERVICES.includes(call.request.service)) {
        state.watch(call);
        return;
      }
      call.write({ status: 'SERVICE_UNKNOWN' });
      call.on('cancelled', () => call.end());
    },
  };
}
