/**
 * The no-op processor on `node:http2` alone: what grpc-js costs is the difference to noop-process.ts. Of gRPC there is only what Envoy needs.
 */
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { kindOf, replies } from './noop/replies.ts';
import { serveParent } from './process/parent.ts';

const FRAME_HEAD_BYTES = 5;

serveParent<object>(await listen(), () => Promise.resolve(null));

async function listen(): Promise<number> {
  const server = createServer({ maxSessionMemory: Number.MAX_SAFE_INTEGER });
  server.on('stream', serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function serve(stream: ServerHttp2Stream): void {
  let rest: Buffer = Buffer.alloc(0);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (let end = endOfFrame(rest); end <= rest.length; end = endOfFrame(rest)) {
      const frame = replies.get(kindOf(rest.subarray(FRAME_HEAD_BYTES, end)));
      if (frame === undefined) throw new Error('a message of Envoy has none of the six kinds');
      stream.write(frame);
      rest = rest.subarray(end);
    }
  });
  stream.on('end', () => stream.end());
  // Envoy resets a stream that it needs no more.
  stream.on('error', () => undefined);
}

/** Beyond the bytes where the frame's head is not there yet. */
function endOfFrame(bytes: Buffer): number {
  return bytes.length < FRAME_HEAD_BYTES ? Number.POSITIVE_INFINITY : FRAME_HEAD_BYTES + bytes.readUInt32BE(1);
}
