/**
 * The detached leg's calls: one HTTP/1.1 request to the egress listener for a flight, and what comes of it as events.
 * Owns the connections; when to call, cancel or give up is the flight table's decision.
 */

import { Client, errors, Pool, type Dispatcher } from 'undici';

import type { CallRequest, FlightId } from '../coalesce/flight/flight.ts';
import { keptBytes } from '../coalesce/flight/kept-bytes.ts';
import type { HeaderList } from '../coalesce/request/head.ts';
import { callHeaders, closesConnection, isFramed, parseRawHeaders } from './call-headers.ts';

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
  /** `trace`: header fields that replace the caller's own of a trace; empty: those go on. */
  readonly call: (flight: FlightId, request: CallRequest, trace: HeaderList) => void;
  /** Ends a call without an event; unknown and finished flights are ignored. */
  readonly cancel: (flight: FlightId) => void;
  /**
   * Reads no more of a call's answer, until `resume`; what is on its way may still come. All of it comes where the egress closes
   * the connection behind it (a draining Envoy does).
   */
  readonly hold: (flight: FlightId) => void;
  readonly resume: (flight: FlightId) => void;
  readonly close: () => Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;

const connectionOptions = {
  headersTimeout: 0,
  bodyTimeout: 0,
  connect: { timeout: CONNECT_TIMEOUT_MS },
  pipelining: 1,
} as const;

/** Calls the origin `url`. Deadlines are the flight's, so undici's own are off. */
export function createEgress(url: string, events: CallEvents): Egress {
  const pool = new Pool(url, connectionOptions);
  const running = new Map<FlightId, Call>();
  return {
    call: (flight, request, trace) => {
      const call = new Call({ flight, url, request, trace }, { events, done: () => running.delete(flight) });
      running.set(flight, call);
      call.start(pool);
    },
    cancel: (flight) => running.get(flight)?.cancel(),
    hold: (flight) => running.get(flight)?.hold(),
    resume: (flight) => running.get(flight)?.resume(),
    close: () => pool.destroy(),
  };
}

class Call implements Dispatcher.DispatchHandler {
  readonly #flight: FlightId;
  readonly #url: string;
  readonly #request: CallRequest;
  readonly #trace: HeaderList;
  readonly #events: CallEvents;
  readonly #done: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  /** The connection of its own that the second try has; null before. */
  #redial: Client | null = null;
  #answered = false;
  /** undici's parser fails an assertion where a connection that is not kept ends while it is paused: nodejs/undici#5360. */
  #mayBeHeld = false;
  #over = false;

  constructor(
    what: { flight: FlightId; url: string; request: CallRequest; trace: HeaderList },
    options: { events: CallEvents; done: () => void },
  ) {
    this.#flight = what.flight;
    this.#url = what.url;
    this.#request = what.request;
    this.#trace = what.trace;
    this.#events = options.events;
    this.#done = options.done;
  }

  start(connections: Pool | Client): void {
    const { head, body } = this.#request;
    try {
      const headers = callHeaders(head, this.#flight, this.#trace);
      connections.dispatch({ method: head.method as Dispatcher.HttpMethod, path: head.path, headers, body }, this);
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
    if (this.#mayBeHeld) this.#controller?.pause();
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
    const headers = parseRawHeaders(controller.rawHeaders);
    if (status !== 204 && status !== 304 && !isFramed(headers)) return this.#refuse(controller);
    this.#answered = true;
    this.#mayBeHeld = !closesConnection(headers);
    this.#events.began(this.#flight, { status: String(status), headers });
  }

  /** The bytes are a view into what was read from the socket. */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#over) this.#events.grew(this.#flight, keptBytes(chunk));
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#over) return;
    this.#finish();
    const trailers = parseRawHeaders(controller.rawTrailers);
    this.#events.ended(this.#flight, trailers.length === 0 ? null : trailers);
  }

  /**
   * An idle connection may be closed by the egress at the very moment at which we use it again: such a call is made once
   * more, on a connection of its own.
   */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over || this.#answered || this.#redial !== null || !wasUsedBefore(error)) {
      this.#break(error);
      return;
    }
    this.#redial = new Client(this.#url, connectionOptions);
    this.start(this.#redial);
  }

  /** An answer that ends with its connection ends in the same way where it is cut: nobody could be told which it was. */
  #refuse(controller: Dispatcher.DispatchController): void {
    const error = new Error(
      'the answer has neither content-length nor chunked transfer-encoding, so its end cannot be told',
    );
    this.#break(error);
    controller.abort(error);
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
    // Ends when its call has ended; that it fails then changes nothing.
    void this.#redial?.close().catch(() => undefined);
  }
}

/** Did the connection break that had served another call before? undici's error tells what was read from it. */
function wasUsedBefore(error: Error): boolean {
  return error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0;
}
