/**
 * One gRPC stream with Envoy: it feeds what comes to the protocol machine and carries out what the machine says. Owns the
 * stream's back-pressure and its record for the log; what any of it means is the machine's.
 */

import type { ServerDuplexStream } from '@grpc/grpc-js';
import { status as grpcStatus } from '@grpc/grpc-js';

import type { ExchangeId } from '../coalesce/flight/flight.ts';
import { judge, screen, type Screening } from '../coalesce/request/eligibility.ts';
import type { HeaderList, RequestHead } from '../coalesce/request/head.ts';
import type { BypassReason } from '../coalesce/request/outcomes.ts';
import type { Policy } from '../coalesce/request/policy.ts';
import type { ExchangeCommand, ExchangeEvent, ExchangePhase, FilterName } from '../extproc/exchange-phase.ts';
import { isEnforced } from '../coalesce/request/rollout.ts';
import { advance } from '../extproc/exchange.ts';
import { ticketBinding } from '../extproc/ticket-binding.ts';
import { usageMetadata } from '../extproc/usage-metadata.ts';
import { encodeReply, type EnvoyMessage, type Reply } from '../extproc/wire.ts';
import { ExchangeRecord } from './exchange-record.ts';
import type { Switchboard } from './switchboard.ts';

export type ProcessStream = ServerDuplexStream<EnvoyMessage, Buffer>;

/** The policy for a request that decide asks about. */
export type PolicyChooser = (head: RequestHead) => Policy;

/** What applies to an exchange from its stream's start on. */
export interface ExchangeTerms {
  readonly filter: FilterName | null;
  readonly choosePolicy: PolicyChooser;
  /** `traceparent` and `tracestate` of the stream itself, where Envoy traces it. */
  readonly traceFields: () => HeaderList;
  /** Which Envoys the stream comes from, by their verified certificate; null without TLS. */
  readonly fleet: string | null;
  /** A reason to bypass every exchange, asked when the head has come; null: none. */
  readonly bypassAll: () => BypassReason | null;
}

/** What Envoy may leave untaken of one exchange's replies before no more is made for it. */
const UNSENT_LIMIT_BYTES = 16 * 1024;

export class ExchangePump {
  readonly #stream: ProcessStream;
  readonly #board: Switchboard;
  readonly #terms: ExchangeTerms;
  readonly #id: ExchangeId;
  readonly #record: ExchangeRecord;
  #phase: ExchangePhase;
  /** From the head on. */
  #policy: Policy | null = null;
  #unsentBytes = 0;
  #pullWanted = false;
  #events: ExchangeEvent[] = [];
  #running = false;
  #closed = false;

  constructor(stream: ProcessStream, board: Switchboard, terms: ExchangeTerms) {
    this.#stream = stream;
    this.#board = board;
    this.#terms = terms;
    this.#phase = { phase: 'opened', filter: terms.filter };
    this.#id = board.enter(this);
    const openedAt = board.now();
    const trace = board.tracing?.exchange(openedAt, terms.traceFields()) ?? null;
    this.#record = new ExchangeRecord({ id: this.#id, openedAt, trace });
    stream.on('data', (message: EnvoyMessage) => this.#onMessage(message));
    // Envoy ends a stream by half-closing or by resetting it; both are a normal end.
    stream.on('end', () => this.#onEnd());
    stream.on('cancelled', () => this.#onEnd());
    stream.on('error', () => this.#onEnd());
    stream.on('close', () => this.#onEnd());
  }

  get traceId(): string | null {
    return this.#record.traceId;
  }

  /** Takes an event; those that come while another is handled wait for it. */
  receive(event: ExchangeEvent): void {
    this.#events.push(event);
    if (this.#running) return;
    this.#running = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#step(next);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#running = false;
    }
  }

  #onMessage(message: EnvoyMessage): void {
    if (message.kind === 'malformed') this.#board.log.streamMalformed(this.#terms.filter ?? 'unnamed', message.why);
    const decides = message.kind === 'requestHeaders' || message.kind === 'requestBody';
    if (decides) this.#record.messageBegan(this.#board.now());
    this.receive({ kind: 'messageReceived', message });
    this.#board.settle();
    if (decides) this.#record.messageHandled(this.#board.now());
  }

  #step(event: ExchangeEvent): void {
    const step = advance(this.#phase, event);
    this.#phase = step.phase;
    for (const command of step.commands) this.#carryOut(command);
  }

  #carryOut(command: ExchangeCommand): void {
    const { table } = this.#board;
    const now = this.#board.now();
    switch (command.kind) {
      case 'reply':
        return this.#write(command.reply);
      case 'replyToLast':
        return this.#write({ ...command.reply, ...usageMetadata(this.#record.tokens) });
      case 'screen':
        return this.#screen(command.head);
      case 'judge':
        return this.#judge(command);
      case 'redeem':
        return this.#redeem(command);
      case 'pull':
        return this.#pull();
      case 'answerBegan':
        return table.answerBegan(command.flight, { ...command, now });
      case 'answeredByEnvoy':
        return table.answeredByEnvoy(command.flight, now);
      case 'answerGrew':
        this.#record.bytesPassed(command.bytes.length);
        return this.#record.cost(table.answerGrew(command.flight, { ...command, now }));
      case 'answerEnded':
        return this.#record.cost(table.answerEnded(command.flight, { ...command, now }));
      case 'specimenBegan':
        return table.specimenBegan(this.#id, command.head);
      case 'specimenGrew':
        this.#record.bytesPassed(command.bytes.length);
        return table.specimenGrew(this.#id, command.bytes);
      case 'specimenEnded':
        return table.specimenEnded(this.#id);
      case 'finish':
        return this.#end(null);
      case 'break':
        return this.#end('the answer was cut off');
    }
  }

  #write(reply: Reply): void {
    this.#record.replied(reply, this.#board.now());
    if (this.#closed) return;
    const bytes = encodeReply(reply);
    this.#unsentBytes += bytes.length;
    this.#stream.write(bytes, () => this.#onSent(bytes.length));
    if (this.#isFull()) this.#stream.pause();
  }

  /** grpc-js counts messages where memory is a matter of bytes: so these are counted here. */
  #isFull(): boolean {
    return this.#unsentBytes >= UNSENT_LIMIT_BYTES;
  }

  #onSent(count: number): void {
    const wasFull = this.#isFull();
    this.#unsentBytes -= count;
    if (!wasFull || this.#isFull() || this.#closed) return;
    this.#stream.resume();
    if (!this.#pullWanted) return;
    this.#pullWanted = false;
    this.receive({ kind: 'woken' });
    this.#board.settle();
  }

  #screen(head: RequestHead): void {
    const policy = this.#terms.choosePolicy(head);
    this.#policy = policy;
    this.#record.governedBy(policy.name);
    this.#record.requested(head);
    const { leg } = this.#board.table;
    const screening = this.#screening(head, policy);
    const mayLead = leg === 'attached' && policy.mode === 'enforce' && policy.rollout > 0;
    const capture = screening.kind === 'candidate' && (this.#isDrawn(policy) || mayLead);
    this.receive({ kind: 'screened', screening, capture });
  }

  /** For a comparison, should the exchange come under shadow. */
  #isDrawn(policy: Policy): boolean {
    if (policy.mode === 'enforce' && policy.rollout === 100) return false;
    const { compare } = policy.shadow;
    return this.#board.table.drawForComparison(this.#id, { compare, chance: this.#board.chance() });
  }

  #screening(head: RequestHead, policy: Policy): Screening {
    const { config, profiles } = this.#board;
    const { maxRequestBytes } = config.limits;
    const screening = screen(head, { policy, maxRequestBytes, profiles });
    if (screening.kind === 'bypass') return screening;
    const reason = this.#terms.bypassAll();
    return reason === null ? screening : { kind: 'bypass', reason };
  }

  #judge(command: Extract<ExchangeCommand, { kind: 'judge' }>): void {
    const { head, profile } = command;
    const policy = this.#policy ?? this.#terms.choosePolicy(head);
    const { table, secret, config } = this.#board;
    if (command.body.length > config.limits.maxRequestBytes) {
      return this.receive({ kind: 'judged', judgement: { kind: 'bypass', reason: 'too_large' } });
    }
    const { fleet } = this.#terms;
    const verdict = judge({ head, body: command.body, profile, fleet }, { policy, secret });
    if (verdict.kind === 'bypass') return this.receive({ kind: 'judged', judgement: verdict });
    this.#record.keyed(verdict.key, verdict.tenant);
    if (!isEnforced(verdict.key, policy)) {
      const would = table.shadow({ ...verdict, exchange: this.#id, policy, route: head.routeName });
      this.#record.shadowed(would);
      return this.receive({ kind: 'judged', judgement: { kind: 'shadow', would } });
    }
    // A view into the gRPC message; the detached leg keeps it until the answer begins.
    const body = table.leg === 'detached' ? Buffer.from(command.body) : command.body;
    const arrival = {
      ...verdict,
      exchange: this.#id,
      policy,
      binding: ticketBinding(head, fleet),
      request: { head, body },
    };
    const decision = table.decide(arrival, this.#board.now());
    if (decision.kind === 'board' && decision.bodyDiffers !== undefined) this.#record.joined(decision.bodyDiffers);
    this.receive({ kind: 'judged', judgement: { kind: 'decided', decision } });
  }

  #redeem({ ticket, head }: Extract<ExchangeCommand, { kind: 'redeem' }>): void {
    this.#record.requested(head);
    const presented = { ticket, binding: ticketBinding(head, this.#terms.fleet), exchange: this.#id };
    const redemption = this.#board.table.redeem(presented, this.#board.now());
    if (redemption.kind === 'aboard') this.#record.boarded(redemption);
    this.receive({ kind: 'redeemed', redemption });
  }

  /** One piece at a time, while Envoy takes more; the rest follows when the stream has drained. */
  #pull(): void {
    if (this.#isFull()) {
      this.#pullWanted = true;
      return;
    }
    const delivery = this.#board.table.pull(this.#id, this.#board.now());
    if ('tokens' in delivery) this.#record.cost(delivery.tokens ?? null);
    this.receive({ kind: 'pulled', delivery });
  }

  /** A bug ends this exchange and what hangs on it, and nothing else. */
  #fail(error: unknown): void {
    this.#board.log.internalError(error);
    this.#events = [];
    const hadBytes = this.#phase.phase === 'streaming';
    this.#phase = { phase: 'over', ending: 'protocol_error' };
    this.#end(hadBytes ? 'internal error' : null);
  }

  #end(cut: string | null): void {
    if (this.#closed) return;
    this.#closed = true;
    if (cut === null) this.#stream.end();
    else this.#stream.emit('error', { code: grpcStatus.ABORTED, details: cut });
    this.#close();
  }

  #onEnd(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.receive({ kind: 'streamEnded' });
    // Envoy waits for our half of a stream that it has half-closed.
    this.#stream.end();
    this.#close();
  }

  /** Once, by whoever has set `#closed`: the stream's own events come in while it is ended. */
  #close(): void {
    this.#board.leave(this.#id);
    const ending = this.#phase.phase === 'over' ? this.#phase.ending : 'left';
    const filter = this.#terms.filter ?? this.#record.guessedFilter;
    this.#record.tell(this.#board, { ending, filter, now: this.#board.now() });
  }
}
