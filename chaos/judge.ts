/**
 * What became of a request, by what the client saw, what the upstream recorded and what was done to the processes. It
 * excuses nothing that it cannot lay at the door of one of these.
 */
import type { Exchange } from '../harness/http-client.ts';
import type { Leg } from '../harness/stack/envoy-config.ts';
import { answerTo, digestOf, type Question } from './answers.ts';
import type { Outage } from './outages.ts';
import type { CallRecord } from './upstream.ts';

/** A request that is over. */
export type Asked = {
  /** Its `x-request-id`. */
  readonly id: string;
  readonly question: Question;
  readonly exchange: Exchange;
  /** It was still under way when its time was over, and was broken off. */
  readonly overdue: boolean;
  /** How much later than it happened its client may have seen its end. */
  readonly lagMs: number;
};

/** What is known about the time of the request. */
export type Evidence = {
  readonly leg: Leg;
  readonly records: ReadonlyMap<number, CallRecord>;
  readonly outages: readonly Outage[];
  /** How much later a fault may reach callers of another instance. */
  readonly leaseMs?: number;
  /** When the client of this request hung up of its own will; undefined where it did not. */
  readonly leftAtMs: (requestId: string) => number | undefined;
};

export const verdictKinds = ['complete', 'refused', 'left', 'cut', 'unreachable', 'wrong', 'hung', 'failed'] as const;

/**
 * `refused`: the upstream's own error, whole. `cut` and `unreachable` are excused: an answer that broke off, and one that
 * did not come from the upstream at all. `wrong`, `hung` and `failed` must not be.
 */
export type VerdictKind = (typeof verdictKinds)[number];
export type Verdict = { readonly kind: VerdictKind; readonly why: string };

/** How long after a kill its effect may reach a client: the signal, the reset, a busy machine. */
const slackMs = 1_500;

/** How long a busy processor may not know that a call has ended: who comes meanwhile joins its flight. */
const newsMs = 1_000;

export function judge(asked: Asked, evidence: Evidence): Verdict {
  const { exchange } = asked;
  if (asked.overdue) return { kind: 'hung', why: `nothing more came; status ${exchange.status}` };
  const named = callNamed(exchange);
  if (named === undefined) {
    const record = bodilessCall(asked, evidence);
    return record === undefined ? judgeStrange(asked, evidence) : judgeAnswer(asked, record, evidence);
  }
  const record = evidence.records.get(named);
  if (record === undefined) return { kind: 'wrong', why: `the answer of call ${named}, which there was not` };
  return judgeAnswer(asked, record, evidence);
}

/** Every part of an answer names its call; the mock's own header reaches those alone who are not followers. */
function callNamed({ headers, body }: Exchange): number | undefined {
  const named = headers['x-mock-call'] ?? /^(?:data: |\[)\{"call":(\d+),/.exec(body.subarray(0, 40).toString())?.[1];
  return named === undefined ? undefined : Number(named);
}

/** The call whose answer a client without any byte of it had begun to get. */
function bodilessCall(asked: Asked, evidence: Evidence): CallRecord | undefined {
  const { status, body, ending } = asked.exchange;
  if (status === 0 || body.length > 0) return undefined;
  const able = callsOf(asked, evidence).filter(
    (record) => record.status === status && (record.size === null || ending !== 'complete'),
  );
  // One that broke explains a cut; which of several it was cannot be told.
  return able.find(({ fault }) => fault !== null) ?? able.at(-1);
}

/** The calls under this question whose flight may have been there in the request's time. */
function callsOf(asked: Asked, { records }: Evidence): CallRecord[] {
  const digest = digestOf(asked.question);
  return [...records.values()].filter(
    (record) =>
      record.digest === digest &&
      record.startedAtMs <= endOf(asked) &&
      (record.endedAtMs() ?? Infinity) >= asked.exchange.startedAtMs - newsMs,
  );
}

/** No answer of the upstream. */
function judgeStrange(asked: Asked, evidence: Evidence): Verdict {
  const { status, ending, error } = asked.exchange;
  if (ending === 'left') return { kind: 'left', why: 'before an answer' };
  if (status >= 200 && status < 400) return { kind: 'wrong', why: `status ${status} that no call answered` };
  const excuse = envoyWasDown(asked, evidence) ?? upstreamBroke(asked, evidence);
  if (excuse !== undefined) return { kind: 'unreachable', why: excuse };
  return { kind: 'failed', why: status === 0 ? `no answer: ${error ?? 'cut'}` : `status ${status} from nobody` };
}

function judgeAnswer(asked: Asked, record: CallRecord, evidence: Evidence): Verdict {
  const { status, body, ending } = asked.exchange;
  const mistake = mistakeIn(asked, record);
  if (mistake !== undefined) return { kind: 'wrong', why: mistake };
  if (ending === 'left') return { kind: 'left', why: `after ${body.length} bytes` };
  if (ending === 'complete') return { kind: status < 400 ? 'complete' : 'refused', why: `call ${record.id}` };
  const excuse =
    (record.fault === null ? undefined : `call ${record.id}: ${record.fault}`) ??
    envoyWasDown(asked, evidence) ??
    leaderLeft(asked, record, evidence) ??
    processBroke(asked, record, evidence);
  if (excuse !== undefined) return { kind: 'cut', why: excuse };
  return { kind: 'failed', why: `cut after ${body.length} bytes of call ${record.id}, which was whole` };
}

/** Bytes of another question or call, bytes out of place, or a clean end before the end. */
function mistakeIn({ question, exchange }: Asked, record: CallRecord): string | undefined {
  const { status, body, ending } = exchange;
  if (record.digest !== digestOf(question)) return `the answer to another question: ${JSON.stringify(record.question)}`;
  if (status !== record.status) return `status ${status} where call ${record.id} said ${record.status}`;
  const whole = record.size === null ? Buffer.alloc(0) : Buffer.concat(answerTo(question, record.id, record.size));
  if (!whole.subarray(0, body.length).equals(body)) return `bytes that are not those of call ${record.id}`;
  if (ending === 'complete' && body.length < whole.length) {
    return `a clean end after ${body.length} of the ${whole.length} bytes of call ${record.id}`;
  }
  return undefined;
}

function envoyWasDown(asked: Asked, { outages }: Evidence): string | undefined {
  const { startedAtMs } = asked.exchange;
  const down = outages.find(
    ({ target, act, fromMs, toMs }) =>
      target === 'Envoy' && act === 'kill' && fromMs <= endOf(asked) && toMs >= startedAtMs,
  );
  return down === undefined ? undefined : 'Envoy was killed';
}

/** Envoy's word for an upstream that broke: about the caller's own call, or about that of its flight on the egress. */
function upstreamBroke(asked: Asked, evidence: Evidence): string | undefined {
  const own = callsOf(asked, evidence).filter(({ viaEgress, requestId }) => viaEgress || requestId === asked.id);
  const broken = own.find(({ fault }) => fault !== null);
  return broken === undefined ? undefined : `call ${broken.id}: ${broken.fault}`;
}

/** Attached: who hung up took the call along. */
function leaderLeft(asked: Asked, record: CallRecord, { leftAtMs }: Evidence): string | undefined {
  if (record.viaEgress || record.requestId === asked.id) return undefined;
  const leftAt = leftAtMs(record.requestId);
  return leftAt !== undefined && leftAt <= endOf(asked) ? `its leader ${record.requestId} hung up` : undefined;
}

/** A caller whose bytes come from the processor is cut with it. One whose own call passes through Envoy is not. */
function processBroke(asked: Asked, record: CallRecord, { outages, leaseMs = 0 }: Evidence): string | undefined {
  if (!record.viaEgress && record.requestId === asked.id) return undefined;
  const found = outages.find((outage) => {
    if (outage.act !== 'kill' && outage.act !== 'stop') return false;
    if (outage.target === 'egress' && (!record.viaEgress || outage.act === 'stop')) return false;
    const untilMs = (outage.act === 'kill' ? outage.fromMs : outage.toMs) + slackMs + leaseMs + asked.lagMs;
    return outage.fromMs <= endOf(asked) && endOf(asked) <= untilMs;
  });
  return found === undefined ? undefined : `${found.target}: ${found.act}`;
}

function endOf({ exchange }: Asked): number {
  return exchange.endedAtMs ?? Infinity;
}
