/**
 * The detached leg's calls: one HTTP/1.1 request to the egress listener for a flight, and what comes of it as events.
 * Owns the connections; when to call, cancel or give up is the flight table's decision.
 */

import { Pool, type Dispatcher } from 'undici';

import type { CallRequest, FlightId } from '../coalesce/flight/flight.ts';
import type { HeaderList } from '../coalesce/request/head.ts';
import { callHeaders, parseRawHeaders } from './call-headers.ts';

/** What an egress call tells. After `ended` or `broke` nothing more comes. */
export interface CallEvents {
  readonly began: (flight: FlightId, head: { status: string; headers: HeaderList }) => void;
  /** `bytes` is the receiver's own. */
  readonly grew: (flight: FlightId, bytes: Uint8Array) => void;
  readonly ended: (flight: FlightId, trailers: HeaderList | null) => void;
  /** `answered`: its head had come. */
  readonly broke: (flight: FlightId, failure: { error: Error; answered: boolean }) => void;
}

export interface Egress {
  readonly call: (flight: FlightId, request: CallRequest) => void;
  /** Ends a call without an event; unknown and finished flights are ignored. */
  readonly cancel: (flight: FlightId) => void;
  /** Reads no more of a call's answer, until `resume`; what is on its way may still come. */
  readonly hold: (flight: FlightId) => void;
  readonly resume: (flight: FlightId) => void;
  readonly close: () => Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** Calls the origin `url`. Deadlines are the flight's, so undici's own are off. */
export function createEgress(url: string, events: CallEvents): Egress {
  const pool = new Pool(url, {
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    pipelining: 1,
  });
  const running = new Map<FlightId, Call>();
  return {
    call: (flight, request) => {
      const call = new Call(flight, { events, done: () => running.delete(flight) });
      running.set(flight, call);
      call.start(pool, request);
    },
    cancel: (flight) => running.get(flight)?.cancel(),
    hold: (flight) => running.get(flight)?.hold(),
    resume: (flight) => running.get(flight)?.resume(),
    close: () => pool.destroy(),
  };
}

class Call implements Dispatcher.DispatchHandler {
  readonly #flight: FlightId;
  readonly #events: CallEvents;
  readonly #done: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  #answered = false;
  #over = false;

  constructor(flight: FlightId, options: { events: CallEvents; done: () => void }) {
    this.#flight = flight;
    this.#events = options.events;
    this.#done = options.done;
  }

  start(pool: Pool, request: CallRequest): void {
    const { head, body } = request;
    try {
      const headers = callHeaders(head, this.#flight);
      pool.dispatch({ method: head.method as Dispatcher.HttpMethod, path: head.path, headers, body }, this);
    } catch (error) {
      this.#break(error);
    }
  }

  cancel(): void {
    if (this.#over) return;
    this.#finish();
    this.#controller?.abort(new Error('the flight was abandoned'));
  }

  hold(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('the flight was abandoned'));
  }

  /** Interim answers (1xx) come here too; they are not the answer. */
  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#over || status < 200) return;
    this.#answered = true;
    const headers = parseRawHeaders(controller.rawHeaders);
    this.#events.began(this.#flight, { status: String(status), headers });
  }

  /** The bytes may be a view into what was read from the socket: the flight gets a copy of its own. */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#over) this.#events.grew(this.#flight, Buffer.from(chunk));
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#over) return;
    this.#finish();
    const trailers = parseRawHeaders(controller.rawTrailers);
    this.#events.ended(this.#flight, trailers.length === 0 ? null : trailers);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#break(error);
  }

  #break(error: unknown): void {
    if (this.#over) return;
    this.#finish();
    const failure = { error: error instanceof Error ? error : new Error(String(error)), answered: this.#answered };
    this.#events.broke(this.#flight, failure);
  }

  #finish(): void {
    this.#over = true;
    this.#done();
  }
}
