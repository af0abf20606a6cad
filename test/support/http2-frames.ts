/** HTTP/2 frames by hand, for a peer that sends what no client library would. */

export const preface: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

const types = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, continuation: 9 } as const;
const END_HEADERS = 4;

export const emptySettings: Buffer = frame('settings', { stream: 0 });

export const ping: Buffer = frame('ping', { stream: 0, payload: new Uint8Array(8) });

/** How frames of the other side begin, one character a byte: to be looked for in what was received. */
export const received = {
  pong: '\0\0\x08\x06\x01',
  /** Behind its length. */
  goAway: '\x07\0\0\0\0\0',
  /** A head or trailers on the connection's first stream, behind its length. */
  firstHead: '\x01\x04\0\0\0\x01',
} as const;

export function frame(
  type: keyof typeof types,
  options: { stream: number; flags?: number; payload?: Uint8Array },
): Buffer {
  const { stream, flags = 0, payload = new Uint8Array() } = options;
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(types[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The head of a gRPC call, as the first on its connection or a later one: it adds nothing to the compression table. */
export function callHead(stream: number, path: string): Buffer {
  const fields = [
    Buffer.of(0x83, 0x86), // :method POST, :scheme http
    literal(':path', path),
    literal(':authority', 'x'),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
  ];
  return frame('headers', { stream, flags: END_HEADERS, payload: Buffer.concat(fields) });
}

export function reset(stream: number): Buffer {
  return frame('rstStream', { stream, payload: Buffer.of(0, 0, 0, 8) });
}

/** A header block of about so many bytes in one HEADERS frame and as many continuations as it takes. */
export function hugeHeaderBlock(stream: number, totalBytes: number): Buffer {
  const piece = Buffer.concat(Array.from({ length: 100 }, (_, index) => literal(`x-${index}`, 'a'.repeat(120))));
  const count = Math.ceil(totalBytes / piece.length);
  const frames = Array.from({ length: count }, (_, index) =>
    frame(index === 0 ? 'headers' : 'continuation', {
      stream,
      flags: index === count - 1 ? END_HEADERS : 0,
      payload: piece,
    }),
  );
  return Buffer.concat(frames);
}

/** A field that is not to be indexed, its name and value as they are (RFC 7541, 6.2.2); both up to 126 bytes. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);
}
