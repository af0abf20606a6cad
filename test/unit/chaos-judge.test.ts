/** That the chaos run's judge sees what is wrong, and excuses only what it can lay at a logged fault's door. */
import { describe, expect, test } from 'vitest';
import { answerTo, digestOf, type Question } from '../../chaos/answers.ts';
import { type Asked, type Evidence, judge } from '../../chaos/judge.ts';
import type { Outage } from '../../chaos/outages.ts';
import type { CallRecord } from '../../chaos/upstream.ts';
import type { Exchange } from '../../harness/http-client.ts';

const question: Question = { prompt: 'p', tenant: 't', api: 'openai', stream: true };
const size = { parts: 3, partBytes: 40 };
const whole = Buffer.concat(answerTo(question, 1, size));
const half = whole.subarray(0, whole.length / 2);

function call(changes: Partial<CallRecord> = {}): CallRecord {
  return {
    ...{ id: 1, question, digest: digestOf(question), requestId: 'leader', viaEgress: true, status: 200 },
    ...{ fault: null, size, startedAtMs: 1_010, endedAtMs: () => 1_900 },
    ...changes,
  };
}

function asked(exchange: Partial<Exchange> = {}, changes: Partial<Asked> = {}): Asked {
  const plain: Exchange = {
    ...{ status: 200, rawHeaders: [], headers: {}, chunks: [], body: whole, trailers: {}, ending: 'complete' },
    ...{ error: undefined, startedAtMs: 1_000, headAtMs: 1_100, endedAtMs: 2_000 },
  };
  return { id: 'me', question, exchange: { ...plain, ...exchange }, overdue: false, lagMs: 0, ...changes };
}

function evidence(record: CallRecord = call(), changes: Partial<Evidence> = {}): Evidence {
  return { leg: 'detached', records: new Map([[1, record]]), outages: [], leftAtMs: () => undefined, ...changes };
}

const outage = (target: Outage['target'], act: Outage['act'], fromMs = 1_900, toMs = 2_100): Evidence =>
  evidence(call(), { outages: [{ target, act, fromMs, toMs }] });
const cut = asked({ body: half, ending: 'reset' });
const nobody = asked({ status: 503, body: Buffer.from('no healthy upstream') });

const other = { ...question, tenant: 'u' };
const mixed = Buffer.concat([half, Buffer.concat(answerTo(question, 2, size)).subarray(half.length)]);

describe('what a client saw', () => {
  test.for<[fact: string, kind: string, Asked, Evidence]>([
    ['a whole answer', 'complete', asked(), evidence()],
    ['the upstream’s own error', 'refused', asked({ status: 503 }), evidence(call({ status: 503 }))],
    ['it hung up', 'left', asked({ body: half, ending: 'left' }), evidence()],
    ['nothing until the bound', 'hung', asked({ ending: 'left' }, { overdue: true }), evidence()],
    ['a clean end before the end', 'wrong', asked({ body: half }), evidence()],
    ['the bytes of two calls', 'wrong', asked({ body: mixed }), evidence()],
    ['another’s answer', 'wrong', asked({}, { question: other }), evidence()],
    ['another status than the call’s', 'wrong', asked({ status: 201 }), evidence()],
    ['a success that nobody answered', 'wrong', asked({ body: Buffer.from('{}') }), evidence()],
    ['a call that there was not', 'wrong', asked({ headers: { 'x-mock-call': '7' } }), evidence()],
    ['a cut without a reason', 'failed', cut, evidence()],
    ['a cut whose call broke', 'cut', cut, evidence(call({ fault: 'cut' }))],
    ['a cut as the processor was killed', 'cut', cut, outage('processor', 'kill')],
    ['a cut long after it was killed', 'failed', cut, outage('processor', 'kill', 100, 200)],
    ['a cut as the processor was drained', 'failed', cut, outage('processor', 'drain')],
    ['a cut as the egress was killed', 'cut', cut, outage('egress', 'kill')],
    [
      'a cut of its own call as the processor was killed',
      'failed',
      cut,
      {
        ...outage('processor', 'kill'),
        records: new Map([[1, call({ viaEgress: false, requestId: 'me' })]]),
      },
    ],
    ['a cut as its leader hung up', 'cut', cut, evidence(call({ viaEgress: false }), { leftAtMs: () => 1_950 })],
    ['an error of nobody’s', 'failed', nobody, evidence()],
    ['an error of nobody’s as the processor was killed', 'failed', nobody, outage('processor', 'kill')],
    [
      'an error of Envoy’s for a call that broke',
      'unreachable',
      nobody,
      evidence(call({ fault: 'reset before the head' })),
    ],
    [
      'no connection while Envoy was down',
      'unreachable',
      asked({ status: 0, body: Buffer.alloc(0) }),
      outage('Envoy', 'kill'),
    ],
    [
      'no connection while Envoy was up',
      'failed',
      asked({ status: 0, body: Buffer.alloc(0) }),
      outage('Envoy', 'kill', 100, 200),
    ],
  ])('%s: %s', ([, kind, request, known]) => {
    expect(judge(request, known).kind).toBe(kind);
  });
});
