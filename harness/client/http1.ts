/** The HTTP/1.1 side of the test client: a fresh connection per request, on node:http. */
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import type { ClientRequest } from './request.ts';
import type { Recording } from './recording.ts';

/** Begins a request; the returned function hangs up. */
export function sendHttp1(request: ClientRequest, recording: Recording): () => void {
  // keepAlive, else Node asks the server to close; the connection ends with the exchange all the same.
  const agent = new Agent({ keepAlive: true });
  const outgoing = httpRequest(new URL(request.path ?? '/', request.url), {
    agent,
    method: request.method ?? (request.body === undefined ? 'GET' : 'POST'),
    headers: { ...request.headers },
  });
  void recording.done.then(() => agent.destroy());
  outgoing.on('response', (incoming) => record(incoming, recording));
  outgoing.on('upgrade', (incoming, socket) => {
    recording.headArrived(incoming.statusCode ?? 0, incoming.rawHeaders);
    recording.finish('complete');
    socket.destroy();
  });
  outgoing.on('error', (error: NodeJS.ErrnoException) => recording.finish('reset', error.code ?? error.message));
  outgoing.setNoDelay(true);
  sendBody(request.body, outgoing);
  return () => outgoing.destroy();
}

function sendBody(body: ClientRequest['body'], outgoing: ReturnType<typeof httpRequest>): void {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    outgoing.end(body);
    return;
  }
  outgoing.flushHeaders();
  const parts = Readable.from(body);
  // A body that its maker breaks off leaves the request half sent.
  parts.on('error', () => outgoing.destroy());
  parts.pipe(outgoing);
}

function record(incoming: IncomingMessage, recording: Recording): void {
  recording.headArrived(incoming.statusCode ?? 0, incoming.rawHeaders);
  incoming.on('data', (bytes: Buffer) => recording.chunkArrived(bytes));
  incoming.on('error', (error: NodeJS.ErrnoException) => recording.finish('reset', error.code ?? error.message));
  incoming.on('close', () => {
    recording.trailersArrived(incoming.rawTrailers);
    recording.finish(incoming.complete ? 'complete' : 'reset');
  });
}
