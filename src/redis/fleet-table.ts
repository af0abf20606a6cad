/**
 * Which local flight leads, follows or stands alone: claims that are under way, publications of those that lead, readers of those
 * that follow, and what each of them tells.
 */

import type { FlightId } from '../coalesce/flight/flight.ts';
import type { Key } from '../coalesce/key/key.ts';
import type { HeaderList } from '../coalesce/request/head.ts';
import { Claims, type Claimed } from './claims.ts';
import { FleetSlots } from './fleet-slots.ts';
import { Ledger } from './ledger.ts';
import { openLink, type Link } from './link/link.ts';
import { Publication } from './publication.ts';
import { Reader } from './reader.ts';
import type { SharedFlights, SharedFlightsOptions } from './shared-flights.ts';
import { writeEnd, writeHead, type SharedHead } from './stream/contents.ts';
import { keyNames, type KeyNames } from './stream/names.ts';
import { createSeal, type Seal } from './stream/seal.ts';
import { Wellness } from './wellness.ts';

/** Of a token's 32: enough to tell flights apart in logs, and no token. */
const FLEET_FLIGHT_DIGITS = 16;

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
  readonly #wallClock: () => number;
  readonly #wellness: Wellness;
  readonly #claims: Claims;
  readonly #slots: FleetSlots;
  readonly #unwritten = new Ledger(UNWRITTEN_BYTES);
  readonly #places = new Map<FlightId, Place>();
  /** Those of finished flights too, until their last entry is written. */
  readonly #publications = new Set<Publication>();

  constructor(options: SharedFlightsOptions) {
    this.#options = options;
    const { redis, log, metrics, wallClock = Date.now } = options;
    this.#wallClock = wallClock;
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
    place.publication.append('head', writeHead({ head, joinableUntil: this.#wallClock() + closesAfterMs }));
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
      ...{ link: this.#link, names, token, seal, leaseMs: redis.leaseMs, joinedAt: this.#wallClock() },
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
