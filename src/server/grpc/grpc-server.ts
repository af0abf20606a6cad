/**
 * The gRPC listener: addresses, limits and what comes with a new stream. What happens on a stream is the pump's.
 */

import { Server, type Metadata, type ServerCredentials } from '@grpc/grpc-js';

import type { BypassReason } from '../../coalesce/request/outcomes.ts';
import { policyFor } from '../../coalesce/request/policy-choice.ts';
import type { HeaderList } from '../../coalesce/request/head.ts';
import type { Policy } from '../../coalesce/request/policy.ts';
import { formatAddress, type Address } from '../../config/values/address.ts';
import type { Tls } from '../../config/named-files/tls.ts';
import { policyBook } from '../../config/inline-policy.ts';
import type { FilterName } from '../../extproc/exchange-phase.ts';
import { removeStaleSocket } from '../../observe/stale-socket.ts';
import { Certificates, credentialsFor, fleetOf } from '../tls/credentials.ts';
import { ExchangePump, type PolicyChooser, type ProcessStream } from '../exchange-pump.ts';
import { frameWriter } from './frame-writer.ts';
import { healthHandlers, type HealthState } from './health.ts';
import { externalProcessorService, healthService } from './service-definition.ts';
import type { Switchboard } from '../switchboard.ts';

/** Envoy itself sends messages of up to 80 MiB; a captured chunk is at most one of its buffers. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** An address that cannot be had. */
export class ListenError extends Error {
  readonly address: string;

  constructor(address: string, cause: unknown) {
    super(`cannot listen on ${address}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.address = address;
  }
}

export interface GrpcServer {
  /** As bound, with real ports. */
  readonly addresses: readonly string[];
  /** For connections from now on; without TLS nothing. */
  readonly renewCertificates: (tls: Tls) => void;
  /** Takes no new connections and waits for open streams, `graceMs` at most. */
  readonly close: (graceMs: number) => Promise<void>;
}

export async function startGrpcServer(options: {
  board: Switchboard;
  health: HealthState;
  /** A reason to bypass every new exchange now. */
  bypassAll: () => BypassReason | null;
}): Promise<GrpcServer> {
  const { board } = options;
  const service = externalProcessorService();
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc.enable_channelz': 0,
    // A host that vanished without a word holds streams, and with them flights, until somebody asks.
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    // Node ends an HTTP/2 session that holds more than 10 MB; many streams on one connection are what Envoy opens.
    'grpc-node.max_session_memory': Number.MAX_SAFE_INTEGER,
    interceptors: [frameWriter(service.Process.path)],
  });
  const { tls } = board.config;
  const certificates = tls === null ? null : new Certificates(tls);
  const chooserFor = inForce(board, policyChooser);
  server.addService(service, {
    Process: (stream: ProcessStream) => {
      const choosePolicy = chooserFor()(stream.metadata);
      const { bypassAll } = options;
      const fleet = certificates === null ? null : fleetOf(stream);
      new ExchangePump(stream, board, {
        filter: filterName(stream.metadata),
        traceFields: () => traceFields(stream.metadata),
        choosePolicy,
        bypassAll,
        fleet,
      });
    },
  });
  server.addService(healthService(), healthHandlers(options.health));
  const addresses: string[] = [];
  for (const address of board.config.listen) {
    addresses.push(await bind(server, address, credentialsFor(address, certificates)));
  }
  return {
    addresses,
    renewCertificates: (renewed) => certificates?.renew(renewed),
    close: (graceMs) => close(server, graceMs),
  };
}

function filterName(metadata: Metadata): FilterName | null {
  const [name] = metadata.get('x-coalesce-filter');
  return name === 'decide' || name === 'deliver' ? name : null;
}

function traceFields(metadata: Metadata): HeaderList {
  return ['traceparent', 'tracestate'].flatMap((name) =>
    metadata.get(name).map((value): readonly [string, string] => [name, String(value)]),
  );
}

/** What is made of the configuration in force: made anew after each reload. */
function inForce<Made>(board: Switchboard, make: (board: Switchboard) => Made): () => Made {
  let { config } = board;
  let made = make(board);
  return () => {
    if (config !== board.config) {
      config = board.config;
      made = make(board);
    }
    return made;
  };
}

/**
 * What Envoy names or spells out counts; where it does neither, the head chooses. A policy that cannot be read, or that
 * nobody has defined, turns coalescing off for its exchanges, and is logged once.
 */
function policyChooser(board: Switchboard): (metadata: Metadata) => PolicyChooser {
  const { policy: base, policies } = board.config;
  const book = policyBook(base, policies);
  const told = new Set<string>();
  const byHead: PolicyChooser = (head) => policyFor(head, base, policies);
  return (metadata) => {
    const [given] = metadata.get('x-coalesce-policy');
    if (given === undefined) return byHead;
    const text = String(given);
    const result = book(text);
    if (result.kind === 'policy') return () => result.policy;
    if (!told.has(text) && told.size < 64) {
      told.add(text);
      board.log.policyRefused(text.slice(0, 200), result.message);
    }
    const off: Policy = { ...base, mode: 'off' };
    return () => off;
  };
}

async function bind(server: Server, address: Address, credentials: ServerCredentials): Promise<string> {
  const text = formatAddress(address);
  try {
    if (address.kind === 'unix') await removeStaleSocket(address.path);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(text, credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    return address.kind === 'unix' ? text : formatAddress({ ...address, port });
  } catch (error) {
    throw new ListenError(text, error);
  }
}

/** grpc-js forgets its sessions where channelz is off, and `forceShutdown` ends none: who is left goes with the process. */
async function close(server: Server, graceMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const limit = setTimeout(resolve, graceMs);
    server.tryShutdown(() => {
      clearTimeout(limit);
      resolve();
    });
  });
}
