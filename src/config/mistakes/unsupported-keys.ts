/** Keys that the documentation of all versions knows, and this version does not. */

/** Names of the public interface that this version does not have. */
export const unsupportedKeys: ReadonlySet<string> = new Set(['tracing']);
