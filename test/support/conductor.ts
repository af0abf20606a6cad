/**
 * An upstream that a test conducts: which call of a prompt gets which answer, and where an answer waits until the test lets
 * it go on. Sending the answers is the mock LLM's affair.
 */
import { defer } from '../../harness/deferred.ts';
import type { BreakPoint, MockCall, MockOptions, MockScript } from '../../harness/mock-llm.ts';

type Script = Partial<MockScript>;

/** Give `options` to the stack; then `play` before the first call of each prompt. */
export class Conductor {
  readonly options: MockOptions;
  readonly #programmes: Map<string, readonly Script[]> = new Map();
  readonly #calls: Map<string, MockCall[]> = new Map();

  constructor() {
    this.options = { respond: (call) => this.#respond(call) };
  }

  /** The first call with this prompt gets the first script, and so on; the last one serves for all that follow. */
  play(prompt: string, ...scripts: readonly Script[]): void {
    this.#programmes.set(prompt, scripts);
  }

  /** The calls with this prompt whose body has arrived. */
  calls(prompt: string): readonly MockCall[] {
    return this.#calls.get(prompt) ?? [];
  }

  #respond(call: MockCall): Script | undefined {
    const prompt = promptOf(call);
    const calls = this.#calls.get(prompt) ?? [];
    this.#calls.set(prompt, [...calls, call]);
    const scripts = this.#programmes.get(prompt) ?? [];
    return scripts[Math.min(calls.length, scripts.length - 1)];
  }
}

function promptOf(call: MockCall): string {
  const body = JSON.parse(call.body.toString()) as { messages?: Array<{ content?: unknown }> };
  return String(body.messages?.[0]?.content);
}

/** A script whose answer waits before its head, or before a chunk, until `open` is called. */
export type Gate = { readonly script: Script; readonly open: () => void };

/** A closed gate there; with `then`, what else the answer's script says, a gate elsewhere included. */
export function gateAt(place: BreakPoint, then: Script = {}): Gate {
  const opened = defer<void>();
  const pace = (step: BreakPoint): Promise<void> | void => (step === place ? opened.promise : then.pace?.(step));
  return { script: { ...then, pace }, open: () => opened.resolve() };
}
