/**
 * A Unix socket file that a killed process left behind: it is removed, one that somebody listens on is not.
 */
import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';

/** Frees `path` for a listener. What is no socket, or is in use, stays: binding then fails with `EADDRINUSE`. */
export async function removeStaleSocket(path: string): Promise<void> {
  const present = await lstat(path).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (present?.isSocket() === true && (await isDeserted(path))) await unlink(path);
}

function isDeserted(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(false);
    });
    probe.once('error', (error) => resolve(errorCode(error) === 'ECONNREFUSED'));
  });
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null;
}
