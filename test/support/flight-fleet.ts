/**
 * The fleet as a flight table's shell meets it, in memory: who has asked, who leads and what it has published, whose answer
 * comes from afar, who has a slot. What it is told is held against what the upstream sent.
 */

import type { FlightId } from '../../src/coalesce/flight/flight.ts';
import type { FleetCommand } from '../../src/coalesce/table/effects.ts';
import type { FlightDeck } from './flight-deck.ts';
import type { Judge } from './flight-judge.ts';
import type { Call, Sent } from './flight-rider.ts';
import { count, type Tally } from './flight-tally.ts';

export type Claim =
  | { readonly phase: 'asked' | 'followed' }
  | { readonly phase: 'led'; head: boolean; published: number; isClosed: boolean };

interface Shell {
  readonly deck: FlightDeck;
  readonly judge: Judge;
  readonly tally: Tally;
  readonly sent: ReadonlyMap<FlightId, Sent>;
}

export class FlightFleet {
  readonly claims: Map<FlightId, Claim> = new Map();
  readonly slots: Map<FlightId, 'asked' | 'granted'> = new Map();
  /** Answers that other instances publish, by the flight that follows here. */
  readonly afar: Map<FlightId, Call> = new Map();
  readonly #shell: Shell;

  constructor(shell: Shell) {
    this.#shell = shell;
  }

  answerClaim(flight: FlightId, answer: 'led' | 'followed' | 'stoodAlone'): void {
    const { deck, judge, tally } = this.#shell;
    count(tally, `claims: ${answer}`);
    if (answer === 'led') this.claims.set(flight, { phase: 'led', head: false, published: 0, isClosed: false });
    else if (answer === 'stoodAlone') this.claims.delete(flight);
    else {
      this.claims.set(flight, { phase: 'followed' });
      this.afar.set(flight, this.#callFor(flight));
    }
    deck.hear(flight, { kind: answer });
    const phase = deck.books.flights.get(flight)?.state.phase;
    judge.demand('one publication', phase !== 'claiming', 'leaves claiming when it is answered', flight);
  }

  /** What others ask for under the same key. */
  #callFor(flight: FlightId): Call {
    const { key = '', tenant = '' } = this.#shell.deck.books.flights.get(flight) ?? {};
    const question = `/${tenant.replace(/0+$/, '')}/${key.replace(/0+$/, '')}`;
    return { flight, leader: null, question, phase: 'silent', length: null, held: false, isAfar: true };
  }

  carryOut(command: FleetCommand): void {
    const { flight } = command;
    switch (command.kind) {
      case 'claim':
        this.#demand(!this.claims.has(flight), 'asks once at a time', flight);
        this.claims.set(flight, { phase: 'asked' });
        return;
      case 'leave':
        this.#demand(this.claims.get(flight)?.phase !== 'led', 'does not leave what it leads', flight);
        this.claims.delete(flight);
        this.afar.delete(flight);
        return;
      case 'holdReading':
      case 'resumeReading':
        return this.#hold(command);
      case 'takeSlot':
        this.#demand(!this.slots.has(flight), 'takes one slot', flight);
        this.slots.set(flight, 'asked');
        return;
      case 'giveSlotBack':
        this.#demand(this.slots.delete(flight), 'gives back the slot that it has', flight);
        return;
      default:
        return this.#publish(command);
    }
  }

  #demand(holds: boolean, what: string, flight: FlightId): void {
    this.#shell.judge.demand('one publication', holds, what, flight);
  }

  #hold({ kind, flight }: Extract<FleetCommand, { kind: 'holdReading' | 'resumeReading' }>): void {
    const call = this.afar.get(flight);
    if (call === undefined) return;
    this.#demand(call.held === (kind === 'resumeReading'), kind, flight);
    call.held = kind === 'holdReading';
  }

  #publish(
    command: Extract<
      FleetCommand,
      { kind: 'publishHead' | 'publishBytes' | 'publishEnd' | 'publishFailure' | 'closeJoining' }
    >,
  ): void {
    const { flight } = command;
    const claim = this.claims.get(flight);
    if (claim?.phase !== 'led') return this.#demand(false, `${command.kind} of what it does not lead`, flight);
    const sent = this.#shell.sent.get(flight);
    switch (command.kind) {
      case 'publishHead':
        this.#demand(!claim.head, 'publishes one head', flight);
        claim.head = true;
        return;
      case 'publishBytes': {
        const text = Buffer.from(command.bytes).toString('latin1');
        const continues = claim.head && sent?.text.startsWith(text, claim.published) === true;
        this.#demand(continues, 'publishes what its upstream sent', flight);
        claim.published += text.length;
        return;
      }
      case 'closeJoining':
        this.#demand(claim.head && !claim.isClosed, 'closes once, and after its head', flight);
        claim.isClosed = true;
        return;
      case 'publishEnd':
        this.#demand(sent?.whole === true && claim.published === sent.text.length, 'ends what is whole', flight);
        this.claims.delete(flight);
        this.#shell.deck.readElsewhere.delete(flight);
        return count(this.#shell.tally, 'publications: whole');
      case 'publishFailure':
        this.claims.delete(flight);
        this.#shell.deck.readElsewhere.delete(flight);
        return count(this.#shell.tally, 'publications: failed');
    }
  }
}
