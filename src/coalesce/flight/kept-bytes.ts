/**
 * The bytes themselves, where three quarters of the memory that they keep from being freed are theirs, else a copy. For bytes that
 * nobody writes to any more: a gRPC message, or what one read of a socket gave.
 */
export function keptBytes(view: Uint8Array): Uint8Array {
  return view.byteLength * 4 >= view.buffer.byteLength * 3 ? view : Buffer.from(view);
}
