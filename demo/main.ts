/**
 * `npm run demo`: reads the command line, lets the show be played and ends all that it started, whatever happens. It owns
 * the process: signals, output streams, exit code.
 */
import process from 'node:process';
import { tryByHand } from './by-hand.ts';
import { help, type Options, readOptions } from './options.ts';
import { openTheatre, play, type Stage } from './show.ts';

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

/** The exit code of an end before the end; undefined while nobody wants one. */
let stopped: number | undefined;
const stop = new Promise<void>((resolve) => {
  const stopWith = (code: number): void => {
    stopped ??= code;
    resolve();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const code = 128 + signalNumbers[signal];
    // A second signal does not wait until all is tidied up.
    process.on(signal, () => (stopped === undefined ? stopWith(code) : process.exit(code)));
  }
  // Who reads us may stop reading, as `head` does.
  process.stdout.on('error', () => stopWith(1));
});

process.exit(await run(readOptions(process.argv.slice(2))));

async function run(options: Options): Promise<number> {
  switch (options.action) {
    case 'help':
      print(help.trimEnd());
      return 0;
    case 'refuse':
      complain(`demo: ${options.why}\n\n${help.trimEnd()}`);
      return 64;
    case 'run':
      try {
        return await show(options);
      } catch (error) {
        // A signal from the terminal reaches our children too: what fails then is no news.
        if (stopped === undefined) complain(`demo: ${error instanceof Error ? error.message : String(error)}`);
        return stopped ?? 1;
      }
  }
}

async function show({ leg, keep }: Extract<Options, { action: 'run' }>): Promise<number> {
  const terminal = process.stdout.isTTY ? process.stdout : undefined;
  const stage: Stage = { leg, print, terminal, progress: complain };
  const theatre = await openTheatre(stage);
  try {
    const wrong = await Promise.race([play(theatre, stage), stop]);
    if (wrong === undefined) return stopped ?? 1;
    for (const line of wrong) complain(`not as expected: ${line}`);
    if (keep) {
      // Not on stdout, whose last line is the figures.
      complain(`\n${tryByHand(theatre.stack)}`);
      await stop;
    }
    return wrong.length === 0 ? 0 : 1;
  } finally {
    await theatre.stack.close();
  }
}
