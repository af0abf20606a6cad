/** Which calls of a flight table lead its flights from which phase to which, as seen in runs. */

import type { FleetNews } from '../../src/coalesce/table/fleet/fleet-news.ts';
import type { FlightWorld } from './flight-world.ts';

/** By phase before, the phases after, for each call of the table: `none` is a flight that is not yet, `ended` one that is no more. */
export type Transitions = Map<string, Map<string, Set<string>>>;

const calls = [
  'decide',
  'redeem',
  'exchangeEnded',
  'answerBegan',
  'answeredByEnvoy',
  'answerGrew',
  'answerEnded',
  'answerBroke',
  'pull',
  'expire',
  'limitTo',
  'hearFromFleet',
  'breakOffAll',
] as const;

/** Notes into `seen` what each call of this world's table makes of the phases of all flights. */
export function watchTransitions(seen: Transitions, world: FlightWorld): void {
  const { table, books: board } = world.deck;
  const phases = (): Map<string, string> =>
    new Map([...board.flights.values()].map(({ id, state }) => [id, state.phase]));
  const note = (call: string, before: Map<string, string>): void => {
    const after = phases();
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const [from, to] = [before.get(id) ?? 'none', after.get(id) ?? 'ended'];
      const row = seen.get(from) ?? new Map<string, Set<string>>();
      seen.set(from, row);
      const cause = from === 'queued' && ['admitting', 'calling', 'boarding'].includes(to) ? 'slotFreed' : call;
      row.set(cause, (row.get(cause) ?? new Set()).add(to));
    }
  };
  for (const call of calls) {
    const original = table[call].bind(table) as (...args: readonly unknown[]) => unknown;
    const watched = (...args: readonly unknown[]): unknown => {
      const before = phases();
      const result = original(...args);
      note(call === 'hearFromFleet' ? (args[1] as FleetNews).kind : call, before);
      return result;
    };
    Object.assign(table, { [call]: watched });
  }
}
