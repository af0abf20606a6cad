/** The protocol machine: what is said to Envoy in each turn of an exchange. */

import { describe, expect, test } from 'vitest';

import type { Tokens } from '../../src/coalesce/answer/usage.ts';
import type { ExchangeCommand, ExchangeEvent, ExchangePhase, Judgement } from '../../src/extproc/exchange-phase.ts';
import { advance } from '../../src/extproc/exchange.ts';
import type { EnvoyMessage } from '../../src/extproc/wire.ts';
import {
  eventSamples,
  flight,
  phaseSamples,
  refusal,
  requestHeaders,
  responseHeaders,
  structs,
  ticket,
  withRoute,
  withTicket,
} from '../support/exchange-samples.ts';
import { answerHead } from '../support/flight-deck.ts';

/** The commands of one event after the other. */
function run(
  from: ExchangePhase,
  ...events: readonly ExchangeEvent[]
): { phase: ExchangePhase; commands: ExchangeCommand[] } {
  let phase = from;
  const commands: ExchangeCommand[] = [];
  for (const event of events) {
    const step = advance(phase, event);
    phase = step.phase;
    commands.push(...step.commands);
  }
  return { phase, commands };
}

const received = (message: EnvoyMessage): ExchangeEvent => ({ kind: 'messageReceived', message });
const shadowed = (role: 'leader' | 'follower', isCompared = false): Judgement => {
  return { kind: 'shadow', would: { role, flight, isCompared } };
};
const finish = { kind: 'finish' };
const [screening] = phaseSamples.screening;
const [bodyAwaited] = phaseSamples.bodyAwaited;
const [judging] = phaseSamples.judging;
if (screening === undefined || bodyAwaited === undefined || judging === undefined) throw new Error('no samples');

describe('which filter calls', () => {
  const opened = { phase: 'opened', filter: null } as const;

  test('unnamed, with attributes it is decide, whatever the metadata', () => {
    const message = requestHeaders({ attributes: withRoute, metadata: withTicket });
    expect(run(opened, received(message)).phase).toMatchObject({ phase: 'screening', head: { routeName: 'llm' } });
  });

  test('unnamed, with a ticket and no attributes it is deliver', () => {
    const { commands } = run(opened, received(requestHeaders({ metadata: withTicket })));
    expect(commands).toMatchObject([{ kind: 'redeem', ticket }]);
  });

  test('unnamed, with neither, the exchange goes on', () => {
    const { phase, commands } = run(opened, received(requestHeaders()));
    expect(phase).toEqual({ phase: 'over', ending: 'no_ticket' });
    expect(commands).toEqual([{ kind: 'reply', reply: { kind: 'continueRequestHeaders' } }, finish]);
  });

  test('named, it is what it is named', () => {
    const decide = run({ phase: 'opened', filter: 'decide' }, received(requestHeaders({ metadata: withTicket })));
    expect(decide.phase.phase).toBe('screening');
    const deliver = run({ phase: 'opened', filter: 'deliver' }, received(requestHeaders({ attributes: withRoute })));
    expect(deliver.phase).toEqual({ phase: 'over', ending: 'no_ticket' });
  });

  test.each([7, true, null, { t: 1 }, ['t1'], undefined])('a ticket that is %j is none', (value) => {
    const message = requestHeaders({ metadata: structs({ coalesce: { ticket: value } }) });
    expect(run({ phase: 'opened', filter: 'deliver' }, received(message)).phase).toEqual({
      phase: 'over',
      ending: 'no_ticket',
    });
  });

  test('a ticket in another namespace, or a namespace that is no struct, is none', () => {
    for (const metadata of [structs({ other: { ticket } }), structs({ coalesce: 'ticket' })]) {
      const { phase } = run({ phase: 'opened', filter: 'deliver' }, received(requestHeaders({ metadata })));
      expect(phase).toEqual({ phase: 'over', ending: 'no_ticket' });
    }
  });
});

describe('decide', () => {
  test('a bypass at the head is one reply with its reason, and the end', () => {
    const { commands } = run(screening, {
      kind: 'screened',
      screening: { kind: 'bypass', reason: 'opt_out' },
      capture: true,
    });
    expect(commands).toEqual([
      { kind: 'reply', reply: { kind: 'continueRequestHeaders', metadata: { outcome: 'bypass', reason: 'opt_out' } } },
      finish,
    ]);
  });

  test.each([
    [true, 'buffered'],
    [false, 'buffered_partial'],
  ] as const)('a candidate is asked for its body, and where it may lead for its answer’s head', (capture, body) => {
    const { profile } = bodyAwaited;
    const { commands } = run(screening, { kind: 'screened', screening: { kind: 'candidate', body, profile }, capture });
    const mode = { requestBody: body, captureResponse: false, responseHeadersOnly: capture };
    expect(commands).toEqual([{ kind: 'reply', reply: { kind: 'continueRequestHeaders', mode } }]);
  });

  test.each([
    ['too_large', Buffer.from('{'), false],
    ['no_body', Buffer.alloc(0), true],
  ] as const)('a body that is %s is bypassed', (reason, body, endOfStream) => {
    const { commands } = run(bodyAwaited, received({ kind: 'requestBody', body, endOfStream }));
    const metadata = { outcome: 'bypass', reason };
    expect(commands).toEqual([{ kind: 'reply', reply: { kind: 'continueRequestBody', metadata } }, finish]);
  });

  test('the leader goes on, asking for an answer that all can read, and its stream stays', () => {
    const { phase, commands } = run(judging, {
      kind: 'judged',
      judgement: { kind: 'decided', decision: { kind: 'lead', flight } },
    });
    expect(phase).toEqual({ phase: 'leading', flight });
    expect(commands).toEqual([
      {
        kind: 'reply',
        reply: {
          kind: 'continueRequestBody',
          metadata: { outcome: 'leader', flight },
          setHeaders: [['accept-encoding', 'identity']],
        },
      },
    ]);
  });

  test('who boards gets its ticket as metadata and nothing else', () => {
    const decision = { kind: 'board', role: 'follower', flight, ticket } as const;
    const { phase, commands } = run(judging, { kind: 'judged', judgement: { kind: 'decided', decision } });
    expect(phase).toEqual({ phase: 'over', ending: 'boarded' });
    const metadata = { outcome: 'follower', flight, ticket };
    expect(commands).toEqual([{ kind: 'reply', reply: { kind: 'continueRequestBody', metadata } }, finish]);
  });

  test('under shadow a would-be follower is done and a would-be leader stays until its end', () => {
    const follower = run(judging, { kind: 'judged', judgement: shadowed('follower') });
    expect(follower.phase).toEqual({ phase: 'over', ending: 'bypassed' });
    const leader = run(judging, { kind: 'judged', judgement: shadowed('leader') });
    const metadata = { outcome: 'bypass', reason: 'shadow', would: 'leader' };
    expect(leader.phase).toEqual({ phase: 'shadowed' });
    expect(leader.commands).toEqual([{ kind: 'reply', reply: { kind: 'continueRequestBody', metadata } }]);
  });
});

describe('an answer that Envoy made itself', () => {
  const withDetails = (details: unknown, status = '504') =>
    responseHeaders({
      status,
      attributes: structs({ 'envoy.filters.http.ext_proc': { 'response.code_details': details } }),
    });

  test.for([
    'response_timeout',
    'local_rate_limited',
    'upstream_reset_before_response_started{connection_failure}',
    '',
  ])('passes on to the leader alone: %j', (details) => {
    const { phase, commands } = run({ phase: 'leading', flight }, received(withDetails(details)));
    expect(phase).toEqual({ phase: 'over', ending: 'led' });
    const setHeaders = [['cache-status', 'coalescer; fwd=miss']];
    expect(commands).toEqual([
      { kind: 'reply', reply: { kind: 'continueResponseHeaders', setHeaders } },
      { kind: 'answeredByEnvoy', flight },
      finish,
    ]);
  });

  test.for<[string, ReturnType<typeof responseHeaders>]>([
    ['the upstream made it', withDetails('via_upstream')],
    ['it is a success', withDetails('direct_response', '200')],
    ['Envoy does not say who made it', responseHeaders({ status: '504' })],
    ['Envoy says something else', withDetails(5)],
  ])('counts as the upstream’s where %s', ([, message]) => {
    expect(run({ phase: 'leading', flight }, received(message)).phase).toEqual({ phase: 'capturing', flight });
  });
});

describe('an answer that is compared', () => {
  test.for(['leader', 'follower'] as const)(
    'of a would-be %s passes on and is told, without our cache-status',
    (role) => {
      const { phase, commands } = run(
        judging,
        { kind: 'judged', judgement: shadowed(role, true) },
        received(responseHeaders()),
        received({ kind: 'responseBody', body: Buffer.from('data'), endOfStream: false }),
        received({ kind: 'responseTrailers', trailers: [] }),
      );
      const metadata = { outcome: 'bypass', reason: 'shadow', would: role };
      expect(phase).toEqual({ phase: 'over', ending: 'bypassed' });
      expect(commands).toEqual([
        { kind: 'reply', reply: { kind: 'continueRequestBody', metadata } },
        {
          kind: 'reply',
          reply: {
            kind: 'continueResponseHeaders',
            mode: { captureResponse: true },
            removeHeaders: ['content-length'],
          },
        },
        { kind: 'specimenBegan', head: answerHead() },
        { kind: 'reply', reply: { kind: 'continueResponseBody' } },
        { kind: 'specimenGrew', bytes: Buffer.from('data') },
        { kind: 'reply', reply: { kind: 'continueResponseTrailers' } },
        { kind: 'specimenEnded' },
        finish,
      ]);
    },
  );

  test('that ends with its head keeps its length', () => {
    const { commands } = run({ phase: 'compared' }, received(responseHeaders({ endOfStream: true })));
    expect(commands).toMatchObject([
      { kind: 'reply', reply: { kind: 'continueResponseHeaders' } },
      { kind: 'specimenBegan' },
      { kind: 'specimenEnded' },
      finish,
    ]);
    expect(commands[0]).not.toHaveProperty('reply.removeHeaders');
  });
});

describe('the capture of a leader', () => {
  test('each message is answered before its content is told, but the last after it: the reply says what it cost', () => {
    const { phase, commands } = run(
      { phase: 'leading', flight },
      received(responseHeaders()),
      received({ kind: 'responseBody', body: Buffer.from('data'), endOfStream: false }),
      received({ kind: 'responseBody', body: Buffer.alloc(0), endOfStream: true }),
    );
    expect(phase).toEqual({ phase: 'over', ending: 'led' });
    expect(commands.map((command) => ('reply' in command ? command.reply.kind : command.kind))).toEqual([
      'continueResponseHeaders',
      'answerBegan',
      'continueResponseBody',
      'answerGrew',
      'answerEnded',
      'continueResponseBody',
      'finish',
    ]);
  });

  test('what it tells is a copy: the message’s bytes may be used again', () => {
    const body = Buffer.from('data');
    const { commands } = run(
      { phase: 'capturing', flight },
      received({ kind: 'responseBody', body, endOfStream: false }),
    );
    body.fill(0);
    expect(commands).toContainEqual({ kind: 'answerGrew', flight, bytes: Buffer.from('data') });
  });

  test('an answer that is all head asks for no body', () => {
    const { phase, commands } = run(
      { phase: 'leading', flight },
      received(responseHeaders({ status: '204', endOfStream: true })),
    );
    expect(phase).toEqual({ phase: 'over', ending: 'led' });
    expect(commands[0]).not.toHaveProperty('reply.mode');
    expect(commands[1]).toMatchObject({ kind: 'answerBegan', endOfStream: true });
  });

  test('trailers end it too, and are told', () => {
    const trailers = [['x-t', '1']] as const;
    const { phase, commands } = run({ phase: 'capturing', flight }, received({ kind: 'responseTrailers', trailers }));
    expect(phase).toEqual({ phase: 'over', ending: 'led' });
    expect(commands).toContainEqual({ kind: 'answerEnded', flight, trailers });
  });

  test('a capture that is stopped ends in order, so that the leader goes on', () => {
    expect(run({ phase: 'capturing', flight }, { kind: 'captureStopped' }).commands).toEqual([finish]);
  });

  test('a wake that crosses a promotion is no news', () => {
    for (const phase of [...phaseSamples.leading, ...phaseSamples.capturing]) {
      expect(advance(phase, { kind: 'woken' })).toEqual({ phase, commands: [] });
    }
  });
});

describe('deliver', () => {
  const aboard: ExchangeEvent = {
    kind: 'redeemed',
    redemption: { kind: 'aboard', flight, role: 'follower', policy: 'default', waitMs: 900_000 },
  };
  const nothing: ExchangeEvent = { kind: 'pulled', delivery: { kind: 'nothing' } };

  test('an unknown ticket lets the exchange go on', () => {
    const { commands } = run({ phase: 'redeeming' }, { kind: 'redeemed', redemption: { kind: 'unknown' } });
    expect(commands).toEqual([{ kind: 'reply', reply: { kind: 'continueRequestHeaders' } }, finish]);
  });

  test('Envoy is told once to wait, longer than we do, and only where nothing is there yet', () => {
    const { commands } = run({ phase: 'redeeming' }, aboard, nothing, { kind: 'woken' }, nothing);
    expect(commands).toEqual([
      { kind: 'pull' },
      { kind: 'reply', reply: { kind: 'extendTimeout', ms: 905_000 } },
      { kind: 'pull' },
    ]);
  });

  test('the wait that Envoy is told is an hour at most', () => {
    const waiting = { phase: 'waiting', flight, waitMs: 36_000_000, told: false } as const;
    expect(run(waiting, nothing).commands).toEqual([
      { kind: 'reply', reply: { kind: 'extendTimeout', ms: 3_600_000 } },
    ]);
  });

  test('an answer that is there already is sent without a word about waiting', () => {
    const head: ExchangeEvent = {
      kind: 'pulled',
      delivery: { kind: 'head', head: answerHead(), role: 'follower', freshForMs: null, endOfStream: false },
    };
    const { commands } = run({ phase: 'redeeming' }, aboard, head);
    expect(commands).toMatchObject([
      { kind: 'pull' },
      { kind: 'reply', reply: { kind: 'streamHead' } },
      { kind: 'pull' },
    ]);
  });

  test('each piece is followed by a pull, the last one by the end', () => {
    const piece = (text: string, endOfStream: boolean): ExchangeEvent => ({
      kind: 'pulled',
      delivery: { kind: 'bytes', bytes: Buffer.from(text), endOfStream },
    });
    const { phase, commands } = run({ phase: 'streaming', flight }, piece('a', false), nothing, piece('b', true));
    expect(phase).toEqual({ phase: 'over', ending: 'followed' });
    expect(commands.map(({ kind }) => kind)).toEqual(['reply', 'pull', 'reply', 'finish']);
  });

  test('the last piece carries what the answer cost, of which only that is said which is known', () => {
    const told = (tokens: Tokens): unknown => {
      const delivery = { kind: 'end', tokens } as const;
      return run({ phase: 'streaming', flight }, { kind: 'pulled', delivery }).commands[0];
    };
    const metadata = { prompt_tokens: 9 };
    expect(told({ prompt: 9, completion: null })).toMatchObject({ kind: 'reply', reply: { metadata } });
    expect(told({ prompt: 9, completion: 0 })).toMatchObject({ reply: { metadata: { completion_tokens: 0 } } });
  });

  test('promoted, it goes upstream with its answer’s head asked for', () => {
    const waiting = { phase: 'waiting', flight, waitMs: 1, told: true } as const;
    expect(run(waiting, { kind: 'promoted', flight }).commands).toEqual([
      {
        kind: 'reply',
        reply: {
          kind: 'continueRequestHeaders',
          metadata: { outcome: 'leader', flight },
          mode: { captureResponse: false, responseHeadersOnly: true },
          setHeaders: [['accept-encoding', 'identity']],
        },
      },
    ]);
  });

  test('released, it goes upstream by itself; refused, it gets an answer of ours', () => {
    const waiting = { phase: 'waiting', flight, waitMs: 1, told: true } as const;
    const metadata = { outcome: 'bypass', reason: 'limit' };
    expect(run(waiting, { kind: 'released', reason: 'limit' }).commands).toEqual([
      { kind: 'reply', reply: { kind: 'continueRequestHeaders', metadata } },
      finish,
    ]);
    expect(run(waiting, { kind: 'refused', answer: refusal }).commands).toMatchObject([
      { kind: 'reply', reply: { kind: 'immediate', status: 429 } },
      finish,
    ]);
  });

  test('cut, it breaks, so that no client takes it for whole', () => {
    expect(run({ phase: 'streaming', flight }, { kind: 'cutOff', ending: 'cut' }).commands).toEqual([
      { kind: 'break' },
    ]);
  });
});

describe('out of place', () => {
  test('a stream with bytes breaks; any other ends in order', () => {
    for (const samples of Object.values(phaseSamples)) {
      for (const phase of samples) {
        const { commands } = advance(phase, { kind: 'messageReceived', message: { kind: 'malformed', why: 'test' } });
        const expected = { over: [], streaming: [{ kind: 'break' }] };
        expect(commands).toEqual(
          phase.phase === 'over' || phase.phase === 'streaming' ? expected[phase.phase] : [finish],
        );
      }
    }
  });

  test('whatever comes after the end changes nothing and says nothing', () => {
    for (const phase of phaseSamples.over) {
      for (const event of Object.values(eventSamples).flat()) {
        expect(advance(phase, event)).toEqual({ phase, commands: [] });
      }
    }
  });

  test('every way to the end says its last word at the end, once', () => {
    for (const phase of Object.values(phaseSamples).flat()) {
      for (const event of Object.values(eventSamples).flat()) {
        const step = advance(phase, event);
        const last = step.commands.findIndex(({ kind }) => kind === 'finish' || kind === 'break');
        const ends = phase.phase !== 'over' && step.phase.phase === 'over' && event.kind !== 'streamEnded';
        expect(last).toBe(ends ? step.commands.length - 1 : -1);
      }
    }
  });
});
