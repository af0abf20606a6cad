/**
 * The bytes themselves, where they are most of the memory that they keep from being freed, else a copy. For bytes that nobody
 * writes to any more: a gRPC message, or what one read of a socket gave.
 */
export function keptBytes(view: Uint8Array): Uint8Array {
  return view.byteLength * 2 >= view.buffer.byteLength ? view : Buffer.from(view);
}
