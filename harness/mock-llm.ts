/**
 * An LLM upstream over real HTTP/1.1, for tests, demo and bench: it answers as its script says and records every call
 * with its own clock. It owns the server; mock/ has the record, the scripts, the answers' shapes and the sending.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { CallLog, type MockCall } from './mock/calls.ts';
import { type MockScript, plainScript, scriptFromHeaders } from './mock/script.ts';
import { BrokenOff, sendAnswer } from './mock/send.ts';

export type { MockCall } from './mock/calls.ts';
export type { BreakPoint, MockScript } from './mock/script.ts';
export { textFor } from './mock/answers.ts';

export type MockOptions = {
  /** What a call's script changes of the plain one; request headers come first, this after them. */
  readonly respond?: (call: MockCall) => Partial<MockScript> | undefined | Promise<Partial<MockScript> | undefined>;
  /** Defaults for every call of this server. */
  readonly script?: Partial<MockScript>;
  /** Told of each call when its body has arrived. */
  readonly onCall?: (call: MockCall) => void;
  /** Where to listen; a free port by default. */
  readonly port?: number;
  /** The loopback address by default. */
  readonly host?: string;
};

export type MockLlm = {
  readonly url: string;
  readonly port: number;
  /** In order of arrival. */
  readonly calls: MockCall[];
  callCount(): number;
  /** Calls under way now, and the most that ever were at once. */
  active(): number;
  peakActive(): number;
  /** Resolves once so many calls have arrived in all; throws after the timeout (10 s by default). */
  waitForCalls(count: number, timeoutMs?: number): Promise<void>;
  /** Stops listening and destroys all connections. */
  close(): Promise<void>;
};

/** Starts a mock LLM, on the loopback address unless told otherwise. */
export async function startMockLlm(options: MockOptions = {}): Promise<MockLlm> {
  const log = new CallLog();
  const mock = new Answering(log, options);
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
    void mock.serve(request, response);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => mock.upgrade(request, socket, head));
  // A peer that breaks its connection is part of many a test.
  server.on('clientError', (_error, socket) => socket.destroy());
  const port = await listen(server, { port: options.port ?? 0, host: options.host ?? '127.0.0.1' });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    calls: log.calls,
    callCount: () => log.calls.length,
    active: () => log.active,
    peakActive: () => log.peakActive,
    waitForCalls: (count, timeoutMs) => log.waitForCalls(count, timeoutMs),
    close: () => closeServer(server, mock.sockets),
  };
}

class Answering {
  readonly sockets: Set<Duplex> = new Set();
  readonly #log: CallLog;
  readonly #options: MockOptions;

  constructor(log: CallLog, options: MockOptions) {
    this.#log = log;
    this.#options = options;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { call, end } = this.#log.arrive(request);
    // Of either side: set here where the script destroys the socket.
    const state = { brokenByScript: false };
    response.once('close', () => {
      call.aborted = !response.writableFinished && !state.brokenByScript;
      end();
    });
    // A broken connection is seen by `close`, for request and response alike.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    try {
      await this.#readBody(request, call);
      const script = await this.#scriptFor(call);
      await sendAnswer({ call, script, response, onBreak: () => (state.brokenByScript = true) });
    } catch (error) {
      if (!(error instanceof BrokenOff) && !response.destroyed) throw error;
    }
  }

  /** Switches protocols and then echoes every byte. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { end } = this.#log.arrive(request);
    this.sockets.add(socket);
    socket.once('close', () => {
      this.sockets.delete(socket);
      end();
    });
    socket.on('error', () => undefined);
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const lines = ['HTTP/1.1 101 Switching Protocols', 'connection: Upgrade', 'upgrade: websocket'];
    socket.write([...lines, `sec-websocket-accept: ${accept}`, '', ''].join('\r\n'));
    if (head.length > 0) socket.write(head);
    socket.pipe(socket);
  }

  async #readBody(request: IncomingMessage, call: MockCall): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part as Buffer);
    } catch {
      throw new BrokenOff('the peer left before its body was whole');
    }
    call.body = Buffer.concat(parts);
    call.bodySha256 = createHash('sha256').update(call.body).digest('hex');
    this.#options.onCall?.(call);
  }

  async #scriptFor(call: MockCall): Promise<MockScript> {
    const own = await this.#options.respond?.(call);
    return { ...plainScript, ...this.#options.script, ...scriptFromHeaders(call.headers), ...own };
  }
}

async function listen(server: Server, { port, host }: { port: number; host: string }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, 4096, resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function closeServer(server: Server, upgraded: ReadonlySet<Duplex>): Promise<void> {
  for (const socket of upgraded) socket.destroy();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
