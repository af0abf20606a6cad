/**
 * A child process with its output in files: started, watched and ended by its pid. Whoever dies takes its children along.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** How a process ended: its exit code, or the signal that ended it. */
export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Child = {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process has ended. */
  readonly exit: Promise<Exit>;
  /** Undefined while it runs. */
  exited(): Exit | undefined;
  kill(signal: NodeJS.Signals): void;
  /** Asks it to end, and makes it after the grace time (3 s by default); resolves when it has. */
  end(graceMs?: number): Promise<void>;
  /** Everything that it has written to stdout, or to stderr, since its start. */
  stdout(): Promise<string>;
  stderr(): Promise<string>;
};

const running: Set<ChildProcess> = new Set();

/** Starts a process whose stdout and stderr go to `<logBase>.out` and `<logBase>.err`. */
export async function startChild(options: {
  name: string;
  command: string;
  args: readonly string[];
  logBase: string;
}): Promise<Child> {
  const { name, command, args, logBase } = options;
  const files = [openSync(`${logBase}.out`, 'a'), openSync(`${logBase}.err`, 'a')] as const;
  const child = spawn(command, args, { stdio: ['ignore', files[0], files[1]] });
  for (const file of files) closeSync(file);
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  track(child, exit);
  let ended: Exit | undefined;
  void exit.then(
    (how) => (ended = how),
    () => undefined,
  );
  // `error` is the only event of a command that cannot be started, and it has no pid then.
  if (child.pid === undefined) await exit;
  return {
    name,
    pid: child.pid ?? 0,
    exit,
    exited: () => ended,
    kill: (signal) => void child.kill(signal),
    end: (graceMs = 3_000) => end(child, exit, graceMs),
    stdout: () => readFile(`${logBase}.out`, 'utf8'),
    stderr: () => readFile(`${logBase}.err`, 'utf8'),
  };
}

/**
 * Polls until `look` returns something, while the process runs. Throws, with the end of its output, where the process
 * ends or the time is over.
 */
export async function waitUntil<T>(
  child: Child,
  options: { what: string; timeoutMs: number; look: () => Promise<T | undefined> },
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const found = await options.look();
    if (found !== undefined) return found;
    const exit = child.exited();
    if (exit !== undefined || performance.now() > deadline) {
      const state = exit === undefined ? `after ${options.timeoutMs} ms` : `: it ended (${exit.code ?? exit.signal})`;
      throw new Error(`${child.name} has no ${options.what} ${state}\n${await lastOutput(child)}`);
    }
    await delay(20);
  }
}

async function lastOutput(child: Child): Promise<string> {
  const text = (await child.stdout()) + (await child.stderr());
  return text.split('\n').slice(-40).join('\n');
}

async function end(child: ChildProcess, exit: Promise<Exit>, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  // A stopped process cannot act on SIGTERM.
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exit;
  clearTimeout(timer);
}

function track(child: ChildProcess, exit: Promise<Exit>): void {
  if (running.size === 0) process.on('exit', killAll);
  running.add(child);
  const forget = (): void => {
    running.delete(child);
    if (running.size === 0) process.off('exit', killAll);
  };
  exit.then(forget, forget);
}

function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}
