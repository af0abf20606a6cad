/** The content of a file that the configuration names, or why it cannot be had. */

/** The content of a file; throws where it cannot be read. */
export type ReadFile = (path: string) => string | Uint8Array;

export type Content =
  { readonly kind: 'content'; readonly bytes: Buffer } | { readonly kind: 'unreadable'; readonly message: string };

export function contentOf(path: string, readFile: ReadFile): Content {
  try {
    return { kind: 'content', bytes: Buffer.from(readFile(path)) };
  } catch (error) {
    return { kind: 'unreadable', message: `cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}
