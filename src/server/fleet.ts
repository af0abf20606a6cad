/**
 * Where the flight table and the fleet meet: what the table says goes out to the other instances, what they say comes in. It
 * decides nothing; who leads is Redis's to say, and what follows from it is the table's.
 */

import type { FlightId } from '../coalesce/flight/flight.ts';
import type { FleetCommand } from '../coalesce/table/effects.ts';
import type { FlightTable } from '../coalesce/table/flight-table.ts';
import type { FleetNews } from '../coalesce/table/fleet/fleet-news.ts';
import type { RedisConfig } from '../config/fleet/redis.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { connectSharedFlights } from '../redis/fleet-table.ts';
import type { SharedFlightEvents, SharedFlights } from '../redis/shared-flights.ts';

export interface Fleet {
  readonly carryOut: (command: FleetCommand) => void;
  /** Whether other instances read what this flight publishes. */
  readonly isReadElsewhere: (flight: FlightId) => boolean;
  /** Gives every lease back, then disconnects. */
  readonly close: () => Promise<void>;
}

export interface FleetOptions {
  readonly redis: RedisConfig;
  readonly secret: () => Uint8Array;
  readonly limits: () => { readonly maxReplayBytes: number; readonly maxUpstream: number };
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What hears of it: the table, and after it `settle`. Asked for at each event. */
export interface FleetListener {
  readonly table: FlightTable;
  readonly now: () => number;
  readonly settle: () => void;
}

/** Connects in the background: until Redis has answered, flights stand alone. */
export function joinFleet(options: FleetOptions, listener: FleetListener): Fleet {
  const shared = connectSharedFlights({ ...options, events: eventsTo(listener) });
  return {
    carryOut: (command) => carryOut(shared, command),
    isReadElsewhere: shared.isFollowed,
    close: shared.close,
  };
}

function eventsTo(listener: FleetListener): SharedFlightEvents {
  const tell = (flight: FlightId, news: FleetNews): void => {
    listener.table.hearFromFleet(flight, { ...news, now: listener.now() });
    listener.settle();
  };
  return {
    led: (flight, fleetFlight) => tell(flight, { kind: 'led', fleetFlight }),
    followed: (flight, fleetFlight) => tell(flight, { kind: 'followed', fleetFlight }),
    stoodAlone: (flight) => tell(flight, { kind: 'stoodAlone' }),
    lost: (flight, { why }) => tell(flight, { kind: 'lost', why }),
    slotGranted: (flight) => tell(flight, { kind: 'slotGranted' }),
    began: (flight, { endOfStream, ...head }) => {
      listener.table.answerBegan(flight, { head, endOfStream, now: listener.now() });
      listener.settle();
    },
    grew: (flight, bytes) => {
      listener.table.answerGrew(flight, { bytes, now: listener.now() });
      listener.settle();
    },
    ended: (flight, trailers) => {
      listener.table.answerEnded(flight, { trailers, now: listener.now() });
      listener.settle();
    },
  };
}

function carryOut(shared: SharedFlights, command: FleetCommand): void {
  const { flight } = command;
  switch (command.kind) {
    case 'claim':
      return shared.claim(flight, command.key);
    case 'leave':
      return shared.leave(flight);
    case 'holdReading':
      return shared.hold(flight);
    case 'resumeReading':
      return shared.resume(flight);
    case 'publishHead': {
      const { head, endOfStream, closesAfterMs } = command;
      return shared.publishHead(flight, { ...head, endOfStream }, { closesAfterMs });
    }
    case 'publishBytes':
      return shared.publishBytes(flight, command.bytes);
    case 'publishEnd':
      return shared.publishEnd(flight, command.trailers);
    case 'publishFailure':
      return shared.publishFailure(flight);
    case 'closeJoining':
      return shared.closeJoining(flight);
    case 'takeSlot':
      return shared.takeSlot(flight);
    case 'giveSlotBack':
      return shared.giveSlotBack(flight);
  }
}
