/**
 * A processor in a process of its own and a gRPC peer that plays Envoy to it, as well or as badly as a test likes. What the
 * messages look like is proto-codec.ts's affair.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientDuplexStream, credentials, Metadata, type StatusObject } from '@grpc/grpc-js';
import { defer } from '../../harness/deferred.ts';
import { freePort, type ProcessorProcess, startProcessor } from '../../harness/stack/processor-process.ts';
import { externalProcessorService } from '../../src/server/grpc/service-definition.ts';
import { until } from './condition.ts';
import { protoCodec } from './proto-codec.ts';

const codec = protoCodec();

export type EnvoyPeer = {
  readonly processor: ProcessorProcess;
  /** Begins an ext_proc stream, as the filter of this name; null: unnamed. */
  open(filter: string | null): PeerStream;
  /** The same on a connection of its own, so that a stream that is not read holds up no other. */
  openApart(filter: string | null): PeerStream;
  /** Throws unless the process runs and holds nothing any more. */
  expectQuiet(): Promise<void>;
  close(): Promise<void>;
};

const clientOptions = {
  'grpc.max_send_message_length': -1,
  'grpc.max_receive_message_length': -1,
  'grpc.use_local_subchannel_pool': 1,
};

/** Starts both; `config` is the processor's, without its addresses. */
export async function startPeer(config: Record<string, unknown> = {}): Promise<EnvoyPeer> {
  const folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-peer-'));
  const [port, adminPort] = [await freePort(), await freePort()];
  const addresses = { listen: `127.0.0.1:${port}`, admin: `127.0.0.1:${adminPort}` };
  const processor = await startProcessor({ ...config, ...addresses }, { folder, adminPort });
  const clients: Client[] = [];
  const connect = (): Client => {
    const client = new Client(addresses.listen, credentials.createInsecure(), clientOptions);
    clients.push(client);
    return client;
  };
  const shared = connect();
  return {
    processor,
    open: (filter) => new PeerStream(shared, filter),
    openApart: (filter) => new PeerStream(connect(), filter),
    expectQuiet: () => expectQuiet(processor),
    close: async () => {
      for (const client of clients) client.close();
      await processor.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const gauges = ['flights', 'waiters', 'replay_bytes', 'queue', 'streams'].map((name) => `coalesce_${name}`);

async function expectQuiet(processor: ProcessorProcess): Promise<void> {
  await until('nothing held', async () => {
    const metrics = await processor.metrics();
    return gauges.every((name) => metrics.get(name) === 0);
  });
}

/** One reply, decoded: fields named as in the proto, absent ones absent. */
export type PeerReply = Record<string, unknown>;

/** One stream, from Envoy's side. */
export class PeerStream {
  /** Every reply up to now. */
  readonly replies: PeerReply[] = [];
  /** How the stream ended; a gRPC status code. */
  readonly ended: Promise<number>;
  readonly #call: ClientDuplexStream<Buffer, PeerReply>;
  #status: number | undefined;

  constructor(client: Client, filter: string | null) {
    const metadata = new Metadata();
    if (filter !== null) metadata.set('x-coalesce-filter', filter);
    this.#call = client.makeBidiStreamRequest<Buffer, PeerReply>(
      externalProcessorService().Process.path,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => codec.decodeResponse(bytes) as PeerReply,
      metadata,
    );
    const ended = defer<number>();
    this.ended = ended.promise;
    this.#call.on('data', (reply: PeerReply) => this.replies.push(reply));
    // `status` follows, for an error too.
    this.#call.on('error', () => undefined);
    this.#call.on('status', ({ code }: StatusObject) => {
      this.#status = code;
      ended.resolve(code);
    });
  }

  send(message: object): this {
    return this.sendBytes(codec.encodeRequest(message));
  }

  sendBytes(bytes: Buffer): this {
    this.#call.write(bytes);
    return this;
  }

  /** Resolves with reply number `index`; throws where the stream ends before. */
  async reply(index: number): Promise<PeerReply> {
    await until(`reply ${index}`, () => this.replies.length > index || this.#status !== undefined);
    const reply = this.replies[index];
    if (reply === undefined) throw new Error(`the stream ended (${this.#status}) after ${this.replies.length} replies`);
    return reply;
  }

  /** Resets the stream, as Envoy does when its exchange is over. */
  cancel(): void {
    this.#call.cancel();
  }

  halfClose(): void {
    this.#call.end();
  }

  /** Stops reading: the window fills up. */
  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }
}
