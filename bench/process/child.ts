/**
 * A process of the bench as its starter sees it: forked, asked one question at a time, ended by its pid. The other end is
 * parent.ts.
 */
import { type ChildProcess, fork } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { defer } from '../../harness/deferred.ts';
import type { ToParent } from './parent.ts';

export type BenchProcess<Question, Answer> = {
  readonly pid: number;
  /** What the process says of itself when it is ready: a port, or 0. */
  readonly port: number;
  /** One at a time. Rejects where the process ends, fails, or does not answer in time (90 s). */
  ask(question: Question): Promise<Answer>;
  end(): Promise<void>;
};

const ANSWER_MS = 90_000;

/** Starts `bench/<script>` as compiled and waits until it is ready. */
export async function startBenchProcess<Question extends object, Answer>(
  script: string,
): Promise<BenchProcess<Question, Answer>> {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
  const child = fork(path, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' });
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  try {
    const ready = await nextMessage(child, script);
    if (ready.kind !== 'ready') throw new Error(`${script} said ${ready.kind} before it was ready`);
    return {
      pid: child.pid ?? 0,
      port: ready.port,
      ask: (question) => ask<Answer>(child, { script, question }),
      end: () => end(child),
    };
  } catch (error) {
    await end(child);
    throw error;
  }
}

async function ask<Answer>(child: ChildProcess, options: { script: string; question: object }): Promise<Answer> {
  const answered = nextMessage(child, options.script);
  if (child.connected) child.send(options.question);
  const message = await answered;
  if (message.kind === 'answer') return message.answer as Answer;
  throw new Error(`${options.script}: ${message.kind === 'failed' ? message.why : 'is ready a second time'}`);
}

async function nextMessage(child: ChildProcess, script: string): Promise<ToParent> {
  const { promise, resolve, reject } = defer<ToParent>();
  const onMessage = (message: unknown): void => resolve(message as ToParent);
  const onExit = (code: number | null): void => reject(new Error(`${script} ended (${code ?? 'by a signal'})`));
  const timer = setTimeout(() => reject(new Error(`${script} is silent for ${ANSWER_MS} ms`)), ANSWER_MS);
  child.once('message', onMessage);
  child.once('exit', onExit);
  child.once('error', reject);
  if (child.exitCode !== null || child.signalCode !== null) onExit(child.exitCode);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.off('message', onMessage);
    child.off('exit', onExit);
    child.off('error', reject);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = defer<void>();
  child.once('exit', () => resolve());
  child.kill('SIGKILL');
  await promise;
}
