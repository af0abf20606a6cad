/** Shared flights, seen from one table: the fleet is asked first, an answer from afar is followed, one's own is published. */

import { describe, expect, test } from 'vitest';

import type { Leg } from '../../src/coalesce/flight/flight.ts';
import type { TableLimits } from '../../src/coalesce/table/board.ts';
import { LEADER_GRACE_MS } from '../../src/coalesce/table/call-deadlines.ts';
import { FlightDeck, keyNamed, nothingHeld, tableLimits } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

const legs: readonly Leg[] = ['attached', 'detached'];

function sharing(leg: Leg, limits: Partial<TableLimits> = {}): FlightDeck {
  return new FlightDeck(leg, limits, true);
}

/** One caller in deliver, and its flight has asked. */
function claiming(
  leg: Leg,
  limits: Partial<TableLimits> = {},
): { deck: FlightDeck; caller: ReturnType<FlightDeck['board']> } {
  const deck = sharing(leg, limits);
  const caller = deck.board();
  deck.commands();
  return { deck, caller };
}

function kinds(deck: FlightDeck): string[] {
  return deck.commands().map(({ kind }) => kind);
}

const fleetScope = { ...tableLimits.admission, maxUpstream: 1, scope: 'fleet' } as const;

describe.for(legs)('%s: who leads', (leg) => {
  test('the first caller gets a ticket, and its flight asks once it is in deliver', () => {
    const deck = sharing(leg);
    const { ticket, role } = deck.hold();
    expect(role).toBe('leader');
    expect(deck.commands()).toEqual([]);
    const { redemption } = deck.redeem(ticket);
    const flight = redemption.kind === 'aboard' ? redemption.flight : null;
    expect(deck.commands()).toEqual([{ kind: 'claim', flight, key: keyNamed('k') }]);
    expect(deck.phases()).toEqual(['claiming']);
  });

  test('those who come while it asks join it, and it asks once', () => {
    const { deck, caller } = claiming(leg);
    expect(deck.board().flight).toBe(caller.flight);
    expect(deck.commands()).toEqual([]);
  });

  test('where it leads, one call is made and every step of its answer is published', () => {
    const { deck, caller } = claiming(leg);
    const { flight } = caller;
    deck.hear(flight, { kind: 'led' });
    expect(kinds(deck)).toEqual([leg === 'attached' ? 'promote' : 'startCall']);
    deck.began(flight, {
      headers: [
        ['content-type', 'text/event-stream'],
        ['x-request-id', 'own'],
        ['set-cookie', 'own'],
      ],
    });
    deck.grew(flight, 'answer');
    deck.ended(flight, [
      ['x-request-id', 'own'],
      ['grpc-status', '0'],
    ]);
    const published = deck.commands().filter(({ kind }) => kind.startsWith('publish'));
    expect(published).toEqual([
      {
        kind: 'publishHead',
        flight,
        head: {
          status: '200',
          headers: [['content-type', 'text/event-stream']],
          contentLength: null,
          announcesTrailers: false,
        },
        endOfStream: false,
        closesAfterMs: samplePolicy().lateJoin.maxAgeMs,
      },
      { kind: 'publishBytes', flight, bytes: Buffer.from('answer') },
      { kind: 'publishEnd', flight, trailers: [['grpc-status', '0']] },
    ]);
  });

  test('where it stands alone, one call is made and nothing is published', () => {
    const { deck, caller } = claiming(leg);
    deck.hear(caller.flight, { kind: 'stoodAlone' });
    expect(kinds(deck)).toEqual([leg === 'attached' ? 'promote' : 'startCall']);
    deck.began(caller.flight);
    deck.grew(caller.flight, 'answer');
    deck.ended(caller.flight);
    expect(kinds(deck).filter((kind) => kind.startsWith('publish'))).toEqual([]);
  });

  test('where it follows, no call is made, and all get the answer from afar as followers', () => {
    const { deck, caller } = claiming(leg);
    const second = deck.board();
    deck.hear(caller.flight, { kind: 'followed' });
    expect(deck.phases()).toEqual(['following']);
    deck.began(caller.flight);
    for (const { exchange } of [caller, second])
      expect(deck.pull(exchange)).toMatchObject({ kind: 'head', role: 'follower' });
    deck.grew(caller.flight, 'answer');
    deck.ended(caller.flight);
    for (const { exchange } of [caller, second]) expect(deck.drink(exchange)).toEqual({ text: 'answer', ended: true });
    const facts = deck.facts().map(({ kind }) => kind);
    for (const kind of ['upstreamCalled', 'firstByteCame', 'answerCompleted']) expect(facts).not.toContain(kind);
    expect(kinds(deck).filter((kind) => kind !== 'wake')).toEqual(['leave']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('an answer that comes when nobody has asked any more means nothing', () => {
    const { deck, caller } = claiming(leg);
    deck.leave(caller.exchange);
    expect(deck.commands()).toEqual([{ kind: 'leave', flight: caller.flight }]);
    for (const kind of ['led', 'followed', 'stoodAlone', 'slotGranted'] as const) deck.hear(caller.flight, { kind });
    expect(deck.commands()).toEqual([]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('a client error from afar is kept as one of its own is', () => {
    const deck = sharing(leg);
    const policy = samplePolicy({ negativeCache: { ttlMs: 1_000, statuses: [400], maxEntries: 10 } });
    const { flight } = deck.board({ policy });
    deck.hear(flight, { kind: 'followed' });
    deck.began(flight, { status: '400' }, true);
    expect(deck.hold({ policy }).role).toBe('replayed');
  });

  test('a crowd that asks counts nobody as upstream: it may have max_waiters and one', () => {
    const deck = sharing(leg);
    const policy = samplePolicy({ maxWaiters: 1 });
    const [first, second] = [deck.board({ policy }), deck.board({ policy })];
    deck.hear(first.flight, { kind: 'followed' });
    deck.began(first.flight);
    expect(second.flight).toBe(first.flight);
    expect(deck.table.lines(0)).toMatchObject([{ waiters: 1, fleet: 'follows' }]);
    expect(deck.board({ policy }).flight).not.toBe(first.flight);
  });
});

describe.for(legs)('%s: the leader of another instance is lost', (leg) => {
  test('before its answer: the fleet is asked again, and who leads now makes the call', () => {
    const { deck, caller } = claiming(leg);
    deck.hear(caller.flight, { kind: 'followed' });
    deck.hear(caller.flight, { kind: 'lost', why: 'lease_lost' });
    expect(deck.commands()).toEqual([{ kind: 'claim', flight: caller.flight, key: keyNamed('k') }]);
    deck.hear(caller.flight, { kind: 'led' });
    expect(kinds(deck)).toEqual([leg === 'attached' ? 'promote' : 'startCall']);
  });

  test('again and again: after max_promotions times its callers are released in turn', () => {
    const { deck, caller } = claiming(leg, { maxPromotions: 2 });
    for (let times = 0; times < 3; times += 1) {
      deck.commands();
      deck.hear(caller.flight, { kind: 'followed' });
      deck.hear(caller.flight, { kind: 'lost', why: 'gave_up' });
    }
    expect(deck.commands()).toEqual([{ kind: 'release', exchange: caller.exchange, reason: 'limit' }]);
    expect(deck.endings()).toEqual(['lease_lost']);
  });

  test('in mid-stream: who has bytes is cut, who has none asks again with the request of the first', () => {
    const { deck, caller } = claiming(leg);
    const late = deck.hold();
    deck.hear(caller.flight, { kind: 'followed' });
    deck.began(caller.flight);
    deck.grew(caller.flight, 'half');
    deck.pull(caller.exchange);
    const waiting = deck.redeem(late.ticket);
    deck.commands();
    deck.hear(caller.flight, { kind: 'lost', why: 'lease_lost' });
    const [cut, left, claim] = deck.commands();
    expect(cut).toEqual({ kind: 'cut', exchange: caller.exchange, ending: 'lease_lost' });
    expect(left).toEqual({ kind: 'leave', flight: caller.flight });
    if (claim?.kind !== 'claim') throw new Error('nobody asks again');
    expect(deck.endings()).toEqual(['lease_lost']);
    deck.hear(claim.flight, { kind: 'led' });
    expect(kinds(deck)).toEqual([leg === 'attached' ? 'promote' : 'startCall']);
    if (leg === 'attached') return;
    deck.began(claim.flight);
    deck.grew(claim.flight, 'whole');
    deck.ended(claim.flight);
    expect(deck.drink(waiting.exchange)).toEqual({ text: 'whole', ended: true });
  });

  test.for(['gave_up', 'cut'] as const)('in mid-stream, by its own word (%s): the ending is a cut', (why) => {
    const { deck, caller } = claiming(leg);
    deck.hear(caller.flight, { kind: 'followed' });
    deck.began(caller.flight);
    deck.pull(caller.exchange);
    deck.hear(caller.flight, { kind: 'lost', why });
    expect(deck.endings()).toEqual(['cut']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('an answer of known length reaches nobody before its end, so that its loss costs nobody anything', () => {
    const { deck, caller } = claiming(leg);
    deck.hear(caller.flight, { kind: 'followed' });
    deck.began(caller.flight, { contentLength: 8 });
    deck.grew(caller.flight, 'half');
    expect(deck.drink(caller.exchange)).toEqual({ text: '', ended: false });
    deck.commands();
    deck.hear(caller.flight, { kind: 'lost', why: 'redis_down' });
    const claim = deck.commands().at(-1);
    if (claim?.kind !== 'claim') throw new Error('nobody asks again');
    deck.hear(claim.flight, { kind: 'followed' });
    deck.began(claim.flight, { contentLength: 8 });
    deck.grew(claim.flight, 'complete');
    expect(deck.drink(caller.exchange)).toEqual({ text: 'complete', ended: true });
  });

  test('an answer of known length that is too long to be held comes as it comes', () => {
    const { deck, caller } = claiming(leg, { maxReplayBytes: 10 });
    deck.hear(caller.flight, { kind: 'followed' });
    deck.began(caller.flight, { contentLength: 12 });
    deck.grew(caller.flight, 'half');
    expect(deck.drink(caller.exchange)).toEqual({ text: 'half', ended: false });
  });

  test('an answer shorter than its head promised is lost, and asked for again', () => {
    const { deck, caller } = claiming(leg);
    deck.hear(caller.flight, { kind: 'followed' });
    deck.began(caller.flight, { contentLength: 10 });
    deck.grew(caller.flight, 'half');
    deck.commands();
    deck.ended(caller.flight);
    expect(kinds(deck)).toEqual(['leave', 'claim']);
    expect(deck.endings()).toEqual(['cut']);
  });

  test('while it says nothing it may queue, call and be promoted: who waits for it is bounded by deadlines.wait alone', () => {
    const { deck, caller } = claiming(leg);
    const { firstByteMs, totalMs, waitMs } = samplePolicy().deadlines;
    const policy = samplePolicy({ deadlines: { ...samplePolicy().deadlines, waitMs: 2 * totalMs } });
    const patient = deck.board({ policy, key: keyNamed('patient') });
    for (const { flight } of [caller, patient]) deck.hear(flight, { kind: 'followed' });
    deck.commands();
    deck.pass(firstByteMs);
    expect(deck.commands()).toEqual([]);
    deck.pass(waitMs - firstByteMs);
    const released = { kind: 'release', exchange: caller.exchange, reason: 'limit' };
    expect(deck.commands()).toEqual([released, { kind: 'leave', flight: caller.flight }]);
    deck.pass(totalMs - waitMs);
    deck.began(patient.flight);
    deck.grew(patient.flight, 'late');
    deck.ended(patient.flight);
    expect(deck.drink(patient.exchange)).toEqual({ text: 'late', ended: true });
    expect(deck.endings()).toEqual(['abandoned', 'landed']);
  });

  test('a silence in mid-stream is its leader’s to judge', () => {
    const { deck, caller } = claiming(leg);
    const { idleMs } = samplePolicy().deadlines;
    deck.hear(caller.flight, { kind: 'followed' });
    deck.began(caller.flight);
    deck.pass(2 * idleMs);
    deck.ended(caller.flight);
    expect(deck.endings()).toEqual(['landed']);
  });

  test('an answer that never ends cuts those who have bytes, once its leader would have ended it for certain', () => {
    const { deck, caller } = claiming(leg);
    const { firstByteMs, totalMs } = samplePolicy().deadlines;
    deck.hear(caller.flight, { kind: 'followed' });
    deck.pass(firstByteMs);
    deck.began(caller.flight);
    deck.pull(caller.exchange);
    deck.commands();
    for (let silentMs = 0; silentMs < totalMs; silentMs += totalMs / 10) {
      deck.grew(caller.flight, 'more');
      deck.pass(totalMs / 10);
    }
    expect(deck.commands().filter(({ kind }) => kind !== 'wake' && kind !== 'holdReading')).toEqual([]);
    deck.pass(LEADER_GRACE_MS);
    const cut = { kind: 'cut', exchange: caller.exchange, ending: 'total_timeout' };
    expect(deck.commands()).toEqual([cut, { kind: 'leave', flight: caller.flight }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });
});

describe('what leads publishes one end or one failure', () => {
  test('its callers leave before the answer: attached, the lead is given up', () => {
    const { deck, caller } = claiming('attached');
    deck.hear(caller.flight, { kind: 'led' });
    deck.commands();
    deck.leave(caller.exchange);
    expect(deck.commands()).toEqual([{ kind: 'publishFailure', flight: caller.flight }]);
  });

  test('attached: a promotion before the head keeps the lead', () => {
    const { deck, caller } = claiming('attached');
    const second = deck.board();
    deck.hear(caller.flight, { kind: 'led' });
    deck.commands();
    deck.leave(caller.exchange);
    expect(deck.commands()).toEqual([{ kind: 'promote', exchange: second.exchange, flight: caller.flight }]);
  });

  test('attached: the leader is lost in mid-stream: a failure, and heirs ask anew', () => {
    const { deck, caller } = claiming('attached');
    deck.board();
    deck.hear(caller.flight, { kind: 'led' });
    deck.began(caller.flight);
    deck.commands();
    deck.leave(caller.exchange);
    expect(kinds(deck)).toEqual(['publishFailure', 'claim']);
  });

  test('detached: the call fails', () => {
    const { deck, caller } = claiming('detached');
    deck.hear(caller.flight, { kind: 'led' });
    deck.commands();
    deck.broke(caller.flight);
    expect(kinds(deck)).toEqual(['cancelCall', 'publishFailure', 'release']);
  });

  test('what is retried is not published', () => {
    const deck = sharing('detached');
    const policy = samplePolicy({ retry: { maxAttempts: 2, on: ['503'], backoffMs: 100 } });
    const { flight } = deck.board({ policy });
    deck.hear(flight, { kind: 'led' });
    deck.commands();
    deck.began(flight, { status: '503' });
    deck.pass(200);
    expect(kinds(deck)).toEqual(['cancelCall', 'startCall']);
  });

  test('a drain that runs out of time', () => {
    const { deck, caller } = claiming('detached');
    deck.hear(caller.flight, { kind: 'led' });
    deck.began(caller.flight);
    deck.commands();
    deck.table.breakOffAll(deck.now);
    expect(kinds(deck)).toContain('publishFailure');
  });

  test('nobody may begin to follow once late_join has passed, and it publishes on', () => {
    const deck = sharing('detached');
    const policy = samplePolicy({ lateJoin: { maxEvents: 1_000, maxBytes: 4, maxAgeMs: 60_000 } });
    const { flight } = deck.board({ policy });
    deck.hear(flight, { kind: 'led' });
    deck.began(flight);
    deck.commands();
    for (const text of ['abcd', 'e', 'f']) deck.grew(flight, text);
    const told = kinds(deck).filter((kind) => kind !== 'wake');
    expect(told).toEqual(['publishBytes', 'publishBytes', 'closeJoining', 'publishBytes']);
  });
});

describe('detached: nobody is aboard a call that the fleet may read', () => {
  test('read elsewhere, it runs on for as long as that', () => {
    const { deck, caller } = claiming('detached', { orphanGraceMs: 0 });
    deck.hear(caller.flight, { kind: 'led' });
    deck.began(caller.flight);
    deck.readElsewhere.add(caller.flight);
    deck.leave(caller.exchange);
    deck.commands();
    deck.pass(30_000);
    expect(deck.commands()).toEqual([]);
    deck.readElsewhere.delete(caller.flight);
    deck.pass(2_000);
    expect(kinds(deck)).toEqual(['cancelCall', 'publishFailure']);
    expect(deck.endings()).toEqual(['abandoned']);
  });

  test('read elsewhere, a reader here that has stopped reading does not hold it up', () => {
    const { deck, caller } = claiming('detached', { maxReplayBytes: 10 });
    deck.hear(caller.flight, { kind: 'led' });
    deck.began(caller.flight);
    deck.pull(caller.exchange);
    deck.readElsewhere.add(caller.flight);
    deck.commands();
    for (let times = 0; times < 3; times += 1) deck.grew(caller.flight, 'abcdefgh');
    expect(kinds(deck)).not.toContain('holdCall');
    expect(deck.table.totals.replayBytes).toBeLessThanOrEqual(10);
  });
});

describe.for(legs)('%s: back-pressure of a flight that follows', (leg) => {
  test('reading is held up by its readers, and goes on when they have caught up', () => {
    const { deck, caller } = claiming(leg, { maxReplayBytes: 10 });
    deck.hear(caller.flight, { kind: 'followed' });
    deck.began(caller.flight);
    deck.pull(caller.exchange);
    deck.commands();
    deck.grew(caller.flight, 'abcdefghijklmno');
    expect(kinds(deck)).toContain('holdReading');
    deck.drink(caller.exchange);
    expect(kinds(deck)).toContain('resumeReading');
  });
});

describe.for(legs)('%s: admission.scope fleet', (leg) => {
  test('a call needs a slot of the process and one of the fleet; both are given back with it', () => {
    const { deck, caller } = claiming(leg, { admission: fleetScope });
    const { flight } = caller;
    deck.hear(flight, { kind: 'led' });
    expect(deck.commands()).toEqual([{ kind: 'takeSlot', flight }]);
    expect(deck.phases()).toEqual(['admitting']);
    deck.hear(flight, { kind: 'slotGranted' });
    expect(kinds(deck)).toEqual([leg === 'attached' ? 'promote' : 'startCall']);
    deck.began(flight);
    deck.ended(flight);
    expect(deck.commands()).toContainEqual({ kind: 'giveSlotBack', flight });
  });

  test('who follows takes no slot, however full the process is', () => {
    const { deck, caller } = claiming(leg, { admission: { ...fleetScope, maxQueue: 0 } });
    deck.hear(caller.flight, { kind: 'led' });
    const other = deck.board({ key: keyNamed('other') });
    deck.commands();
    deck.hear(other.flight, { kind: 'followed' });
    expect(deck.commands()).toEqual([]);
    expect(deck.phases()).toEqual(['admitting', 'following']);
  });

  test('no slot within max_wait, counted from the queue on: 429, and the lead is given up', () => {
    const { deck, caller } = claiming(leg, { admission: { ...fleetScope, maxWaitMs: 1_000 } });
    deck.hear(caller.flight, { kind: 'led' });
    deck.commands();
    deck.pass(1_000);
    expect(kinds(deck)).toEqual(['giveSlotBack', 'publishFailure', 'refuse']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('where it leads and the queue is full it is refused, and the lead is given up', () => {
    const { deck, caller } = claiming(leg, { admission: { ...fleetScope, maxQueue: 0 } });
    deck.hear(caller.flight, { kind: 'led' });
    const other = deck.board({ key: keyNamed('other') });
    deck.commands();
    deck.hear(other.flight, { kind: 'led' });
    expect(kinds(deck)).toEqual(['publishFailure', 'refuse']);
  });
});
