/** Request bodies of a wanted length or framing. */

/** JSON of this object, padded by a member to exactly so many bytes where it is shorter. */
export function paddedTo(length: number, members: object): string {
  const missing = length - JSON.stringify({ ...members, padding: '' }).length;
  return JSON.stringify(missing > 0 ? { ...members, padding: 'x'.repeat(missing) } : members);
}

/** A body whose length its head does not tell. */
export async function* chunked(parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}
