/** A TCP connection on which a test writes its own HTTP, for what no client library would send. */
import { connect } from 'node:net';
import { defer } from '../../harness/deferred.ts';

export type RawSocket = {
  write(text: string | Uint8Array): void;
  /** Everything received so far, one character a byte. */
  received(): string;
  /** Resolves when what was received holds the text so many times; rejects where the connection ends before. */
  waitForText(text: string, times?: number): Promise<void>;
  /** Resolves when the other side has ended the connection. */
  readonly ended: Promise<void>;
  close(): void;
};

/** Opens one to a port on the loopback address. */
export async function openSocket(port: number): Promise<RawSocket> {
  const socket = connect(port, '127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', () => resolve());
    socket.once('error', reject);
  });
  const ended = defer<void>();
  const looks: Set<() => void> = new Set();
  let text = '';
  let isOver = false;
  const look = (): void => {
    for (const each of [...looks]) each();
  };
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    look();
  });
  // `close` follows.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isOver = true;
    ended.resolve();
    look();
  });
  return {
    write: (bytes) => void socket.write(bytes),
    received: () => text,
    ended: ended.promise,
    close: () => socket.destroy(),
    waitForText: (wanted, times = 1) =>
      new Promise((resolve, reject) => {
        const each = (): void => {
          const met = text.split(wanted).length > times;
          if (!met && !isOver) return;
          looks.delete(each);
          if (met) resolve();
          else reject(new Error(`the connection ended before ${JSON.stringify(wanted)}: ${text}`));
        };
        looks.add(each);
        each();
      }),
  };
}
