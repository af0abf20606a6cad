/** A process of the bench that knows nothing of it: given a free port, waited for until it listens, ended by its pid. */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../harness/stack/processor-process.ts';

export type PlainProcess = { readonly pid: number; readonly port: number; readonly end: () => Promise<void> };

const START_MS = 15_000;

/** Starts `command`, whose arguments are told its port. */
export async function startPlainProcess(
  command: string,
  argumentsFor: (port: number) => readonly string[],
): Promise<PlainProcess> {
  const port = await freePort();
  const child = spawn(command, argumentsFor(port), { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  const end = async (): Promise<void> => {
    process.off('exit', kill);
    kill();
    await ended;
  };
  const deadline = performance.now() + START_MS;
  while (!(await accepts(port))) {
    if (child.pid === undefined || child.exitCode !== null || performance.now() > deadline) {
      await end();
      throw new Error(`${command} does not listen on port ${port}`);
    }
    await delay(50);
  }
  return { pid: child.pid ?? 0, port, end };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
