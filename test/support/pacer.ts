/** The hand of a test on the mock's answer: head, chunks and end wait until the test lets them go. */
import { type Deferred, defer } from '../../harness/deferred.ts';
import type { BreakPoint } from '../../harness/mock-llm.ts';

type Gate = { readonly reached: Deferred<void>; readonly opened: Deferred<void> };

/** Holds every answer whose script has its `pace`, at the same steps. */
export class Pacer {
  readonly #gates: Map<BreakPoint, Gate> = new Map();
  #isOpen = false;

  /** For a script. A step is `head`, a chunk's index, or the number of chunks for the end. */
  readonly pace = (step: BreakPoint): Promise<void> | void => {
    const gate = this.#gate(step);
    gate.reached.resolve();
    return this.#isOpen ? undefined : gate.opened.promise;
  };

  /** Resolves when an answer has come to this step. */
  reached(step: BreakPoint): Promise<void> {
    return this.#gate(step).reached.promise;
  }

  /** Lets answers pass these steps. */
  open(...steps: BreakPoint[]): void {
    for (const step of steps) this.#gate(step).opened.resolve();
  }

  /** Lets every answer go on to its end. */
  openAll(): void {
    this.#isOpen = true;
    for (const gate of this.#gates.values()) gate.opened.resolve();
  }

  #gate(step: BreakPoint): Gate {
    const gate = this.#gates.get(step) ?? { reached: defer<void>(), opened: defer<void>() };
    this.#gates.set(step, gate);
    return gate;
  }
}
