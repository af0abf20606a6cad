/** The HTTP/2 side of the test client: cleartext with prior knowledge, on node:http2. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { Readable } from 'node:stream';
import type { ClientRequest } from './request.ts';
import type { Recording } from './recording.ts';

/** Opens a session that several requests may share; the caller closes it. */
export async function openSession(url: string): Promise<ClientHttp2Session> {
  const session = connect(url);
  await new Promise<void>((resolve, reject) => {
    session.once('connect', () => resolve());
    session.once('error', reject);
  });
  // From here on a broken connection shows in the streams on it.
  session.on('error', () => undefined);
  return session;
}

/** Begins a request; the returned function resets its stream. */
export function sendHttp2(request: ClientRequest, recording: Recording): () => void {
  const session = request.session ?? connect(request.url);
  const isOwn = request.session === undefined;
  if (isOwn) {
    session.on('error', (error: NodeJS.ErrnoException) => recording.finish('reset', error.code ?? error.message));
    void recording.done.then(() => session.destroy());
  }
  const stream = session.request(headOf(request), { endStream: request.body === undefined });
  record(stream, recording);
  sendBody(request.body, stream);
  return () => stream.close(constants.NGHTTP2_CANCEL);
}

function headOf({ method, path, headers, body }: ClientRequest): OutgoingHttpHeaders {
  const { host, ...others } = headers ?? {};
  const isWhole = typeof body === 'string' || body instanceof Uint8Array;
  return {
    ':method': method ?? (body === undefined ? 'GET' : 'POST'),
    ':path': path ?? '/',
    ...(host === undefined ? {} : { ':authority': host }),
    ...(isWhole ? { 'content-length': Buffer.byteLength(body) } : {}),
    ...others,
  };
}

function sendBody(body: ClientRequest['body'], stream: ClientHttp2Stream): void {
  if (body === undefined) return;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    stream.end(body);
    return;
  }
  const parts = Readable.from(body);
  parts.on('error', () => stream.close(constants.NGHTTP2_CANCEL));
  parts.pipe(stream);
}

function record(stream: ClientHttp2Stream, recording: Recording): void {
  let isWhole = false;
  stream.on('response', (headers: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
    recording.headArrived(headers[':status'] ?? 0, flatten(headers));
  });
  stream.on('trailers', (headers: IncomingHttpHeaders) => recording.trailersArrived(flatten(headers)));
  stream.on('data', (bytes: Buffer) => recording.chunkArrived(bytes));
  stream.on('end', () => (isWhole = true));
  // `close` follows and has the code.
  stream.on('error', () => undefined);
  stream.on('close', () => {
    const code = stream.rstCode;
    if (isWhole && code === constants.NGHTTP2_NO_ERROR) recording.finish('complete');
    else recording.finish('reset', `RST ${code}`);
  });
}

function flatten(headers: IncomingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((each) => (each === undefined ? [] : [name, String(each)])),
  );
}
