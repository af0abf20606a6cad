/**
 * What happens, line by line, where the output is no terminal: upstream calls as they begin and end, and callers as they
 * are served.
 */
import type { MockCall } from '../harness/mock-llm.ts';
import type { Asked } from './answers.ts';
import { promptOf } from './prompts.ts';

/** Prints until every caller's exchange is over. Times are from `startedAtMs`. */
export class Narration {
  readonly #print: (line: string) => void;
  readonly #startedAtMs = performance.now();

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  callBegan(call: MockCall): void {
    const name = `upstream call ${call.id}`;
    this.#say(`${name} begins: ${promptOf(call)?.text ?? 'a prompt of yours'}`);
    void call.ended.then(() => this.#say(`${name} ${call.aborted ? 'is cancelled' : 'ends'}`));
  }

  async follow(asked: readonly Asked[]): Promise<void> {
    this.#say(`${asked.length} callers wait`);
    for (const { sent } of asked) {
      void sent.done.then(({ ending }) => ending === 'left' && this.#say('a caller hangs up'));
    }
    const prompts = [...new Set(asked.map(({ prompt }) => prompt))];
    await Promise.all(
      prompts.map(async (prompt) => {
        const own = asked.filter((one) => one.prompt === prompt);
        const exchanges = await Promise.all(own.map(({ sent }) => sent.done));
        const whole = exchanges.filter(({ ending, status }) => ending === 'complete' && status === 200).length;
        this.#say(`${whole} of ${own.length} callers have their whole answer: ${prompt.text}`);
      }),
    );
  }

  #say(line: string): void {
    const seconds = (performance.now() - this.#startedAtMs) / 1000;
    this.#print(`${seconds.toFixed(2).padStart(6)} s  ${line}`);
  }
}
