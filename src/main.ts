#!/usr/bin/env node
/** Signals, wiring and exit codes; the only file that uses `process`. */

import { readFileSync } from 'node:fs';

import { check, printSchema } from './cli/check.ts';
import { exitCodes, parseCommandLine, usage } from './cli/command-line.ts';
import { doctor } from './cli/doctor.ts';
import { explain } from './cli/explain.ts';
import { printMistake } from './config/mistakes/mistakes.ts';
import { readConfigFile, type ConfigResult } from './config/read.ts';
import { WatchedFiles } from './config/reloading/watched-files.ts';
import { createLog, type Log } from './observe/log.ts';
import { ListenError } from './server/grpc/grpc-server.ts';
import { leaveOutStacksOfResets } from './server/grpc/stream-errors.ts';
import { startService, type Service } from './server/serve.ts';

const FLUSH_LIMIT_MS = 1_000;

const ADMIN_LIMIT_MS = 10_000;

const readFile = (path: string): Buffer => readFileSync(path);

/** The body of a page of Envoy's admin. */
async function readUrl(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(ADMIN_LIMIT_MS) });
  if (!response.ok) throw new Error(`answered ${response.status}`);
  return response.text();
}

await run(process.argv.slice(2));

async function run(argv: readonly string[]): Promise<void> {
  const command = parseCommandLine(argv);
  switch (command.kind) {
    case 'serve':
      return serve(command.config);
    case 'check': {
      const result = check(command.config, readFile);
      return leave(result.exitCode, result);
    }
    case 'schema':
      return leave(exitCodes.ok, printSchema());
    case 'doctor': {
      const result = await doctor(command, { readFile, readUrl });
      return leave(result.exitCode, result);
    }
    case 'explain': {
      const result = explain(command, { readFile, readStdin: () => readFileSync(0) });
      return leave(result.exitCode, result);
    }
    case 'help':
      return leave(exitCodes.ok, { stdout: usage });
    case 'version':
      return leave(exitCodes.ok, { stdout: `${version()}\n` });
    case 'wrong':
      return leave(exitCodes.wrongCall, { stderr: `envoy-coalescer: ${command.message}\n\n${usage}` });
  }
}

/** Lets the output go out before the process ends: an exit at once would cut a pipe. */
function leave(exitCode: number, output: { stdout?: string; stderr?: string }): void {
  process.exitCode = exitCode;
  process.stdout.write(output.stdout ?? '');
  process.stderr.write(output.stderr ?? '');
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : 'unknown';
}

async function serve(path: string | null): Promise<void> {
  const files = new WatchedFiles();
  const readAgain = (): ConfigResult => files.readAnew((readWatched) => readConfigFile(path, readWatched));
  const read = readAgain();
  if (read.kind === 'mistakes') {
    leave(exitCodes.wrongConfig, { stderr: read.mistakes.map((mistake) => `${printMistake(mistake)}\n`).join('') });
    return;
  }
  const log = createLog(read.config.logLevel);
  // Source maps have their own way to write a stack.
  if (!process.sourceMapsEnabled) leaveOutStacksOfResets();
  process.on('uncaughtException', (error) => void crash(log, error));
  process.on('unhandledRejection', (error) => void crash(log, error));
  try {
    const service = await startService({ config: read.config, log, pid: process.pid });
    untilStopped(service, { log, read: readAgain, files });
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    log.cannotListen(error.address, error);
    await exit(log, exitCodes.cannotListen);
  }
}

function untilStopped(service: Service, options: { log: Log; read: () => ConfigResult; files: WatchedFiles }): void {
  const { log, read, files } = options;
  let asked = 0;
  const stop = (): void => {
    asked += 1;
    void (asked === 1 ? service.drain() : Promise.resolve()).then(() => exit(log, exitCodes.ok));
  };
  const reload = (): void => service.reload(read());
  process.on('SIGHUP', reload);
  files.watch(reload);
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

async function exit(log: Log, exitCode: number): Promise<void> {
  log.stopped(exitCode);
  // Whoever reads the log may have stalled: the exit does not wait for that.
  await Promise.race([log.flush(), new Promise((resolve) => setTimeout(resolve, FLUSH_LIMIT_MS))]);
  // What was logged meanwhile: handed over at once, and written as the process ends.
  void log.flush();
  process.exit(exitCode);
}

/** A bug that no exchange could be blamed for: the state cannot be trusted, and Envoy fails open without us. */
async function crash(log: Log, error: unknown): Promise<void> {
  log.internalError(error);
  await exit(log, 1);
}
