/** What was done to the processes, and when: the other half of what the judge believes. */

export type Target = 'processor' | 'egress' | 'Envoy' | 'Redis';

/** `drain`: SIGTERM, and a new process once it has ended. That one and `reload` harm nobody. */
export type Act = 'kill' | 'stop' | 'drain' | 'reload';

/** Times are of `performance.now()`; `toMs` is when the process served again. */
export type Outage = { readonly target: Target; readonly act: Act; readonly fromMs: number; toMs: number };

export class OutageLog {
  readonly all: Outage[] = [];

  /** Records one that begins now. */
  begin(target: Target, act: Act): Outage {
    const outage: Outage = { target, act, fromMs: performance.now(), toMs: Infinity };
    this.all.push(outage);
    return outage;
  }

  count(target: Target, act: Act): number {
    return this.all.filter((outage) => outage.target === target && outage.act === act).length;
  }
}

export function end(outage: Outage): void {
  outage.toMs = performance.now();
}
