/**
 * The files that the configuration was read from, and whether they are still what was read. Looks at what their paths lead
 * to, so that a swapped symbolic link (a Kubernetes ConfigMap), a file that an editor renamed into place, one that went and
 * one that came are all changes. It asks instead of being told: a few `stat`s a second cost nothing, and a notice of the
 * kernel's does not come from network volumes, nor for a link that is swapped elsewhere, nor where its watches are used up.
 */
import { readFileSync, statSync, type BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Two looks after a change it is acted on: well within a second. */
const LOOK_EVERY_MS = 200;

export class WatchedFiles {
  /** By path: what stood there when it was read. */
  #stamps = new Map<string, string>();
  /** What differed at the last look; a change counts once it differs no more from look to look. */
  #unsettled: string | null = null;
  #looking = false;

  /** Runs a reading of all files, in place of the reading before. */
  readAnew<Result>(read: (readFile: (path: string) => Buffer) => Result): Result {
    this.#stamps = new Map();
    this.#unsettled = null;
    return read((path) => {
      // Stamped before: what changes while it is read differs at the next look.
      this.#stamps.set(path, stampNow(path));
      return readFileSync(path);
    });
  }

  /**
   * Whether a file has changed since it was read and stands still now: written halfway, it still changes from look to look.
   */
  async haveChanged(): Promise<boolean> {
    const stamps = this.#stamps;
    const now = await Promise.all([...stamps.keys()].map(stampOf));
    if (stamps !== this.#stamps) return false;
    const isAsRead = [...stamps.values()].every((stamp, index) => stamp === now[index]);
    const seen = isAsRead ? null : now.join();
    const isSettled = seen !== null && seen === this.#unsettled;
    this.#unsettled = isSettled ? null : seen;
    return isSettled;
  }

  /** Calls `changed`, which is to read anew, after each change. Keeps no process alive. */
  watch(changed: () => void): void {
    setInterval(() => {
      if (this.#looking) return;
      this.#looking = true;
      void this.haveChanged()
        .then((have) => {
          if (have) changed();
        })
        .finally(() => {
          this.#looking = false;
        });
    }, LOOK_EVERY_MS).unref();
  }
}

function stampNow(path: string): string {
  try {
    return stampFrom(statSync(path, { bigint: true }));
  } catch (error) {
    return reasonOf(error);
  }
}

async function stampOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(stampFrom, reasonOf);
}

/** Differs for another file under the same path, and for other content in the same file. */
function stampFrom({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

/** A file that is not there is a state too. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
