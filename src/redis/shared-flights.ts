/**
 * The flight table that a fleet shares: per key at most one instance leads, the others follow its answer. Owns which local
 * flight leads, follows or stands alone; the local table decides what that means for callers. Nothing here throws, waits
 * beyond its limits or makes a flight fail: where Redis does not serve, a flight stands alone.
 */

import type { FleetFlight } from '../coalesce/flight/fleet-role.ts';
import type { FlightId } from '../coalesce/flight/flight.ts';
import type { Key } from '../coalesce/key/key.ts';
import type { HeaderList } from '../coalesce/request/head.ts';
import type { RedisConfig } from '../config/fleet/redis.ts';
import { Claims, type Claimed, type ClaimsOptions } from './claims.ts';
import { FleetSlots } from './fleet-slots.ts';
import { Ledger } from './ledger.ts';
import { openLink, type Link } from './link/link.ts';
import { Publication } from './publication.ts';
import { Reader, type Loss } from './reader.ts';
import { writeEnd, writeHead, type SharedHead } from './stream/contents.ts';
import { keyNames, type KeyNames } from './stream/names.ts';
import { createSeal, type Seal } from './stream/seal.ts';
import { Wellness, type WellnessOptions } from './wellness.ts';

/** Of a token's 32: enough to tell flights apart in logs, and no token. */
const FLEET_FLIGHT_DIGITS = 16;

/** What the fleet tells of one local flight. All calls come later than what they answer, never from inside it. */
export interface SharedFlightEvents {
  /** This instance leads the fleet's flight of that key: it makes the upstream call and publishes the answer. */
  readonly led: (flight: FlightId, fleetFlight: FleetFlight) => void;
  /** Another instance leads; its answer follows as began, grew and ended, or lost. */
  readonly followed: (flight: FlightId, fleetFlight: FleetFlight) => void;
  /** Redis does not serve within the budget: the flight is this instance's own, and nothing is published. */
  readonly stoodAlone: (flight: FlightId) => void;
  /** `endOfStream`: this is the whole answer, and the last that comes. Headers are those that followers get. */
  readonly began: (flight: FlightId, head: SharedHead) => void;
  /** `bytes` are the receiver's own. */
  readonly grew: (flight: FlightId, bytes: Uint8Array) => void;
  /** The answer is whole. */
  readonly ended: (flight: FlightId, trailers: HeaderList | null) => void;
  /** No more of it will come. The flight may claim again. */
  readonly lost: (flight: FlightId, loss: Loss) => void;
  /** An upstream call may be made. */
  readonly slotGranted: (flight: FlightId) => void;
}

/** Calls for flights in another place than theirs are ignored, so that nobody need ask. */
export interface SharedFlights {
  /** Answered with led, followed or stoodAlone, within the budget and a tick. */
  readonly claim: (flight: FlightId, key: Key) => void;
  /** Of a flight that leads. After `closesAfterMs` it takes no more joiners. With `endOfStream` the answer is whole. */
  readonly publishHead: (flight: FlightId, head: SharedHead, options: { readonly closesAfterMs: number }) => void;
  /** `bytes` are read until they are written: nobody may change them. */
  readonly publishBytes: (flight: FlightId, bytes: Uint8Array) => void;
  readonly publishEnd: (flight: FlightId, trailers: HeaderList | null) => void;
  /** The flight ended otherwise than by a whole answer. */
  readonly publishFailure: (flight: FlightId) => void;
  /** It takes no more joiners: the next claim of its key begins a new generation. It goes on publishing. */
  readonly closeJoining: (flight: FlightId) => void;
  /** Nobody here wants the flight any more. What it leads fails; nothing more is told of it. */
  readonly leave: (flight: FlightId) => void;
  /** Reads no more of a followed answer, until `resume`. */
  readonly hold: (flight: FlightId) => void;
  readonly resume: (flight: FlightId) => void;
  /**
   * Whether callers of other instances read what this flight publishes, as of its last write; at the latest a third of a
   * lease ago, and for a lease after they have gone. A flight without callers here may still have them there.
   */
  readonly isFollowed: (flight: FlightId) => boolean;
  /** Answered with slotGranted when the fleet has a free slot, or when Redis does not serve. */
  readonly takeSlot: (flight: FlightId) => void;
  /** Also ends waiting for one. */
  readonly giveSlotBack: (flight: FlightId) => void;
  /** Gives every lease and slot back, as far as Redis can be told within a second, then disconnects. */
  readonly close: () => Promise<void>;
}

export interface SharedFlightsOptions {
  readonly redis: RedisConfig;
  /** As of now; what it was at a claim holds for that claim's flight. */
  readonly secret: () => Uint8Array;
  readonly limits: () => { readonly maxReplayBytes: number; readonly maxUpstream: number };
  readonly events: SharedFlightEvents;
  readonly log: WellnessOptions['log'];
  readonly metrics: WellnessOptions['metrics'] & ClaimsOptions['metrics'] & { readonly countFencedWrite: () => void };
}

/** Connects in the background: until Redis has answered, flights stand alone. */
export function connectSharedFlights(options: SharedFlightsOptions): SharedFlights {
  return new FleetTable(options);
}

type Place =
  | { readonly phase: 'claiming'; readonly forget: () => void }
  | { readonly phase: 'leading'; readonly publication: Publication; bytes: number; closing: NodeJS.Timeout | null }
  | { readonly phase: 'following'; readonly reader: Reader };

/** Of all publications, waiting to be written. */
const UNWRITTEN_BYTES = 64 * 2 ** 20;
/** So long an answer may be due before a connection is given up. */
const LEAST_STUCK_MS = 1_000;
const SLOT_PATIENCE = 10;
const CLOSE_MS = 1_000;

class FleetTable implements SharedFlights {
  readonly #options: SharedFlightsOptions;
  readonly #link: Link;
  readonly #wellness: Wellness;
  readonly #claims: Claims;
  readonly #slots: FleetSlots;
  readonly #unwritten = new Ledger(UNWRITTEN_BYTES);
  readonly #places = new Map<FlightId, Place>();
  /** Those of finished flights too, until their last entry is written. */
  readonly #publications = new Set<Publication>();

  constructor(options: SharedFlightsOptions) {
    this.#options = options;
    const { redis, log, metrics } = options;
    const { url, leaseMs, budgetMs, prefix } = redis;
    this.#wellness = new Wellness({ prefix, budgetMs, log, metrics });
    this.#link = openLink({
      url,
      stuckMs: Math.max(leaseMs, LEAST_STUCK_MS),
      up: () => this.#connected(),
      down: (cause) => this.#wellness.disconnected(cause),
    });
    const shared = { link: this.#link, wellness: this.#wellness, leaseMs };
    this.#claims = new Claims({ ...shared, budgetMs, metrics });
    this.#slots = new FleetSlots({
      ...shared,
      prefix,
      patienceMs: SLOT_PATIENCE * budgetMs,
      slots: () => options.limits().maxUpstream,
      granted: (flight) => options.events.slotGranted(flight),
    });
  }

  claim = (flight: FlightId, key: Key): void => {
    this.leave(flight);
    const secret = this.#options.secret();
    const names = keyNames(secret, this.#options.redis.prefix, key);
    const forget = this.#claims.claim(names, (claimed) => this.#claimed(flight, { names, secret, claimed }));
    this.#places.set(flight, { phase: 'claiming', forget });
  };

  publishHead = (flight: FlightId, head: SharedHead, { closesAfterMs }: { readonly closesAfterMs: number }): void => {
    const place = this.#places.get(flight);
    if (place?.phase !== 'leading') return;
    place.publication.append('head', writeHead(head));
    place.closing ??= setTimeout(() => place.publication.closeJoining(), closesAfterMs);
    if (head.endOfStream) this.publishEnd(flight, null);
  };

  publishBytes = (flight: FlightId, bytes: Uint8Array): void => {
    const place = this.#places.get(flight);
    if (place?.phase !== 'leading') return;
    place.bytes += bytes.length;
    place.publication.append('bytes', bytes);
  };

  publishEnd = (flight: FlightId, trailers: HeaderList | null): void => {
    const place = this.#places.get(flight);
    if (place?.phase !== 'leading') return;
    place.publication.end(writeEnd({ bytes: place.bytes, trailers }));
    this.#drop(flight, place);
  };

  publishFailure = (flight: FlightId): void => {
    const place = this.#places.get(flight);
    if (place?.phase !== 'leading') return;
    place.publication.fail();
    this.#drop(flight, place);
  };

  closeJoining = (flight: FlightId): void => {
    const place = this.#places.get(flight);
    if (place?.phase === 'leading') place.publication.closeJoining();
  };

  leave = (flight: FlightId): void => {
    const place = this.#places.get(flight);
    if (place === undefined) return;
    switch (place.phase) {
      case 'claiming':
        place.forget();
        break;
      case 'leading':
        place.publication.fail();
        break;
      case 'following':
        place.reader.stop();
        break;
    }
    this.#drop(flight, place);
  };

  hold = (flight: FlightId): void => {
    const place = this.#places.get(flight);
    if (place?.phase === 'following') place.reader.hold();
  };

  resume = (flight: FlightId): void => {
    const place = this.#places.get(flight);
    if (place?.phase === 'following') place.reader.resume();
  };

  isFollowed = (flight: FlightId): boolean => {
    const place = this.#places.get(flight);
    return place?.phase === 'leading' && place.publication.isFollowed;
  };

  takeSlot = (flight: FlightId): void => this.#slots.take(flight);

  giveSlotBack = (flight: FlightId): void => this.#slots.giveBack(flight);

  close = async (): Promise<void> => {
    for (const flight of [...this.#places.keys()]) this.leave(flight);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    const written = Promise.all([...this.#publications].map((publication) => publication.over));
    if (this.#link.isUp()) await Promise.race([Promise.all([written, this.#slots.close()]), late]);
    clearTimeout(timer);
    for (const publication of this.#publications) publication.abandon();
    void this.#slots.close();
    this.#wellness.stop();
    this.#link.close();
  };

  #connected(): void {
    this.#wellness.connected(this.#link);
    this.#claims.giveBackUncertain();
  }

  #claimed(flight: FlightId, answer: { names: KeyNames; secret: Uint8Array; claimed: Claimed }): void {
    const { events, redis } = this.#options;
    const { names, secret, claimed } = answer;
    this.#places.delete(flight);
    if (claimed.kind === 'alone') {
      events.stoodAlone(flight);
      return;
    }
    const { token } = claimed;
    const fleetFlight = token.slice(0, FLEET_FLIGHT_DIGITS);
    const seal = createSeal({ secret, name: names.name, token, encrypt: redis.encrypt });
    if (claimed.kind === 'led') {
      const publication = this.#publish(names, token, seal);
      this.#places.set(flight, { phase: 'leading', publication, bytes: 0, closing: null });
      events.led(flight, fleetFlight);
    } else {
      this.#places.set(flight, { phase: 'following', reader: this.#follow(flight, { names, token, seal }) });
      events.followed(flight, fleetFlight);
    }
  }

  #publish(names: KeyNames, token: string, seal: Seal): Publication {
    const publication = new Publication({
      ...{ link: this.#link, names, token, seal, unwritten: this.#unwritten },
      leaseMs: this.#options.redis.leaseMs,
      maxStreamBytes: this.#options.limits().maxReplayBytes,
      fenced: () => this.#options.metrics.countFencedWrite(),
    });
    this.#publications.add(publication);
    void publication.over.then(() => this.#publications.delete(publication));
    return publication;
  }

  #follow(flight: FlightId, { names, token, seal }: { names: KeyNames; token: string; seal: Seal }): Reader {
    const { events, redis } = this.#options;
    return new Reader({
      ...{ link: this.#link, names, token, seal, leaseMs: redis.leaseMs },
      began: (head) => {
        if (head.endOfStream) this.#places.delete(flight);
        events.began(flight, head);
      },
      grew: (bytes) => events.grew(flight, bytes),
      ended: (trailers) => {
        this.#places.delete(flight);
        events.ended(flight, trailers);
      },
      lost: (loss) => {
        this.#places.delete(flight);
        if (loss.why === 'lease_lost' || loss.why === 'unreadable') this.#claims.distrust(token);
        events.lost(flight, loss);
      },
    });
  }

  #drop(flight: FlightId, place: Place): void {
    if (place.phase === 'leading' && place.closing !== null) clearTimeout(place.closing);
    this.#places.delete(flight);
  }
}
