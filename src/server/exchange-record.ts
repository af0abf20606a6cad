/** What is remembered of an exchange for its one log line and its share of the metrics. Never a prompt, header or whole key. */

import type { Tokens } from '../coalesce/answer/usage.ts';
import type { CallerRole, ExchangeId, FlightId } from '../coalesce/flight/flight.ts';
import type { Key } from '../coalesce/key/key.ts';
import { soleHeader, type RequestHead } from '../coalesce/request/head.ts';
import type { Tenant } from '../coalesce/request/tenant.ts';
import { bypassReasons, outcomes, shedReasons } from '../coalesce/request/outcomes.ts';
import type { Would } from '../coalesce/shadow/shadow-table.ts';
import type { Redemption } from '../coalesce/table/joining.ts';
import type { ExchangeEnding, FilterName } from '../extproc/exchange-phase.ts';
import type { Metadata, Reply } from '../extproc/wire.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ExchangeTrace } from '../observe/tracing/exchange-trace.ts';

export class ExchangeRecord {
  readonly #id: ExchangeId;
  #policy: string | null = null;
  readonly #openedAt: number;
  readonly #trace: ExchangeTrace | null;
  #key8: string | null = null;
  #tenant: Tenant | null = null;
  #bodyDiffers: boolean | null = null;
  #requestId: string | null = null;
  #said: Metadata = {};
  #tokens: Tokens | null = null;
  #role: CallerRole | null = null;
  #flight: string | null = null;
  #would: Would | null = null;
  #status: number | null = null;
  #bytes = 0;
  #firstByteAt: number | null = null;
  #handledMs = 0;
  #messageBeganAt: number | null = null;

  /** `trace`: null where tracing is off. */
  constructor(options: { id: ExchangeId; openedAt: number; trace: ExchangeTrace | null }) {
    this.#id = options.id;
    this.#trace = options.trace;
    this.#openedAt = options.openedAt;
  }

  /** Which filter an unnamed stream turned out to be. */
  get guessedFilter(): FilterName {
    return this.#role === null ? 'decide' : 'deliver';
  }

  /** By the name of its policy. */
  governedBy(policy: string): void {
    this.#policy = policy;
  }

  requested(head: RequestHead): void {
    this.#requestId = soleHeader(head.headers, 'x-request-id');
    this.#trace?.requested(head.headers);
  }

  keyed(key: Key, tenant: Tenant): void {
    this.#key8 = key.slice(0, 8);
    this.#tenant = tenant;
  }

  /** It joined a flight. */
  joined(bodyDiffers: boolean): void {
    this.#bodyDiffers = bodyDiffers;
  }

  /** What it would have been. */
  shadowed(would: Would): void {
    this.#would = would;
  }

  boarded(redemption: Extract<Redemption, { kind: 'aboard' }>): void {
    this.#role = redemption.role;
    this.#flight = redemption.flight;
    this.#policy = redemption.policy;
    this.#trace?.boarded(redemption);
  }

  /** What the answer cost; null where that is not known yet, or never. */
  cost(tokens: Tokens | null): void {
    this.#tokens ??= tokens;
  }

  get tokens(): Tokens | null {
    return this.#tokens;
  }

  bytesPassed(count: number): void {
    this.#bytes += count;
  }

  /** One of the request's messages came: its time here counts as the decision's. */
  messageBegan(now: number): void {
    this.#messageBeganAt = now;
  }

  /** It was dealt with, unless the exchange ended with it. */
  messageHandled(now: number): void {
    this.#handledMs += this.#timeOfMessage(now);
    this.#messageBeganAt = null;
  }

  #timeOfMessage(now: number): number {
    return this.#messageBeganAt === null ? 0 : now - this.#messageBeganAt;
  }

  replied(reply: Reply, now: number): void {
    if ('metadata' in reply && reply.metadata !== undefined) this.#saidOf(reply.metadata, now);
    if (reply.kind === 'streamHead') {
      this.#status = Number(reply.status);
      this.#firstByteAt = now;
    } else if (reply.kind === 'streamBody') this.#bytes += reply.bytes.length;
    else if (reply.kind === 'immediate') this.#status = reply.status;
  }

  #saidOf(metadata: Metadata, now: number): void {
    this.#said = { ...this.#said, ...metadata };
    const { outcome, reason, flight } = metadata;
    if (this.#trace === null || typeof outcome !== 'string') return;
    const flown = textOf(flight) as FlightId | null;
    if (this.#role === null) {
      const would = this.#would?.role ?? null;
      const [policy, key8] = [this.#policy, this.#key8];
      this.#trace.decided({ outcome, reason: textOf(reason), policy, key8, flight: flown, would }, now);
    } else if (flown !== null) this.#trace.promoted(flown, now);
  }

  /** Of the recorded trace that it is in; null: none. */
  get traceId(): string | null {
    return this.#trace?.traceId ?? null;
  }

  /** Writes the line and counts the decision, once. */
  tell(sinks: { log: Log; metrics: Metrics }, end: { ending: ExchangeEnding; filter: FilterName; now: number }): void {
    const outcome = wordOf(outcomes, this.#said['outcome']);
    const reason = this.#said['reason'];
    const bypassed = wordOf(bypassReasons, reason);
    // A caller that is released in deliver is bypassed too, later than others.
    if (outcome === 'bypass' && bypassed !== null) sinks.metrics.countBypass(bypassed);
    if (end.filter === 'decide' && outcome !== null) {
      sinks.metrics.countDecision(outcome);
      sinks.metrics.observeDecision(this.#handledMs + this.#timeOfMessage(end.now), this.traceId);
    }
    const waitedMs = this.#firstByteAt === null ? null : this.#firstByteAt - this.#openedAt;
    const { ending } = end;
    const [status, bytes] = [this.#status, this.#bytes];
    this.#trace?.left({ ending, outcome, reason: textOf(reason), status, bytes, waitedMs }, end.now);
    sinks.log.exchangeEnded({
      id: String(this.#id),
      requestId: this.#requestId,
      filter: end.filter,
      outcome,
      reason: bypassed ?? wordOf(shedReasons, reason),
      role: this.#role ?? (outcome === 'bypass' || outcome === 'shed' ? null : outcome),
      flight: this.#flight ?? textOf(this.#said['flight']),
      would: this.#would?.role ?? null,
      wouldFlight: this.#would?.flight ?? null,
      key8: this.#key8,
      tenant: this.#tenant,
      bodyDiffers: this.#bodyDiffers,
      policy: this.#policy,
      status,
      bytes,
      promptTokens: this.#tokens?.prompt ?? null,
      completionTokens: this.#tokens?.completion ?? null,
      durationMs: end.now - this.#openedAt,
      waitedMs,
      ending,
    });
  }
}

function wordOf<Word extends string>(words: readonly Word[], text: string | number | undefined): Word | null {
  return words.find((word) => word === text) ?? null;
}

function textOf(value: string | number | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
