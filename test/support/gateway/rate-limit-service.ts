/**
 * A rate limit service as Envoy's global `ratelimit` filter asks one, over real gRPC: it counts what each descriptor took and
 * refuses what is over its limit. Windows never end: a test says how much there is.
 */
import { join } from 'node:path';
import {
  type MethodDefinition,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { repositoryRoot } from '../../../harness/root.ts';

export type RateLimitService = {
  readonly port: number;
  /** How often a descriptor was asked for, refusals among them. */
  asked(key: string, value: string): number;
  /** From here on only so many more; what is not limited is let through. */
  allow(key: string, value: string, more: number): void;
  close(): Promise<void>;
};

type Request = { descriptors: Array<{ entries: Array<{ key: string; value: string }> }> };
type Response = { overall_code: 'OK' | 'OVER_LIMIT' };

/** Starts one on the loopback address, on a free port. */
export async function startRateLimitService(): Promise<RateLimitService> {
  const asked: Map<string, number> = new Map();
  const left: Map<string, number> = new Map();
  const take = (name: string): boolean => {
    asked.set(name, (asked.get(name) ?? 0) + 1);
    const more = left.get(name);
    if (more === undefined) return true;
    left.set(name, Math.max(0, more - 1));
    return more > 0;
  };
  const answer = ({ descriptors }: Request): Response => {
    const allowed = descriptors.map(({ entries }) => take(entries.map(({ key, value }) => named(key, value)).join()));
    return { overall_code: allowed.every(Boolean) ? 'OK' : 'OVER_LIMIT' };
  };
  const server = new Server();
  server.addService(
    { ShouldRateLimit: shouldRateLimit() },
    {
      ShouldRateLimit: (call: ServerUnaryCall<Request, Response>, reply: sendUnaryData<Response>) =>
        reply(null, answer(call.request)),
    },
  );
  return {
    port: await bind(server),
    asked: (key, value) => asked.get(named(key, value)) ?? 0,
    allow: (key, value, more) => void left.set(named(key, value), more),
    close: async () => server.forceShutdown(),
  };
}

function named(key: string, value: string): string {
  return `${key}=${value}`;
}

function shouldRateLimit(): MethodDefinition<object, object> {
  const folder = join(repositoryRoot, 'test', 'data', 'proto');
  const definitions = loadSync('rate-limit.proto', { includeDirs: [folder], keepCase: true, enums: String });
  const service = definitions['envoy.service.ratelimit.v3.RateLimitService'];
  const method = service !== undefined && !('format' in service) ? service['ShouldRateLimit'] : undefined;
  if (method === undefined) throw new Error('the proto file has no method ShouldRateLimit');
  return method;
}

function bind(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}
