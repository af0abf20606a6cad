/** What two answers have to say alike to be the same, however they were cut into chunks. */

import { describe, expect, test } from 'vitest';

import { differenceOf, fingerprint, isReadable, type Difference } from '../../src/coalesce/answer/assembled.ts';

function json(value: unknown, status = '200') {
  return fingerprint({ status, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) });
}

function events(...data: readonly unknown[]) {
  const text = data.map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`).join('');
  return fingerprint({ status: '200', contentType: 'text/event-stream; charset=utf-8', body: Buffer.from(text) });
}

const message = { role: 'assistant', content: 'Hello' };
const whole = {
  id: 'a',
  created: 1,
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1 },
};
const call = (name: string, input: string) => ({ id: 'c', type: 'function', function: { name, arguments: input } });
const withMessage = (changes: object, finish = 'stop') => ({
  ...whole,
  choices: [{ index: 0, message: { ...message, ...changes }, finish_reason: finish }],
});

describe('chat completions', () => {
  test('ids, instants and usage are not compared', () => {
    const other = { ...whole, id: 'b', created: 2, system_fingerprint: 'fp', usage: { prompt_tokens: 9 } };
    expect(differenceOf(json(whole), json(other))).toBeNull();
  });

  test.for<[Difference, object]>([
    ['text', withMessage({ content: 'Hullo' })],
    ['text', withMessage({ refusal: 'no' })],
    ['text', withMessage({ reasoning_content: 'thought' })],
    ['text', { ...whole, choices: [...whole.choices, { index: 1, message, finish_reason: 'stop' }] }],
    ['tools', withMessage({ tool_calls: [call('f', '{}')] })],
    ['finish', withMessage({}, 'length')],
    ['rest', { ...whole, error: { message: 'x' } }],
  ])('another %s is a difference', ([difference, other]) => {
    expect(differenceOf(json(whole), json(other))).toBe(difference);
  });

  test('calls of tools differ by name and input, not by id', () => {
    const one = json(withMessage({ tool_calls: [call('f', '{"a":1}')] }));
    const renamed = { ...call('f', '{"a":1}'), id: 'other' };
    expect(differenceOf(one, json(withMessage({ tool_calls: [renamed] })))).toBeNull();
    expect(differenceOf(one, json(withMessage({ tool_calls: [call('f', '{"a":2}')] })))).toBe('tools');
    expect(differenceOf(one, json(withMessage({ tool_calls: [call('g', '{"a":1}')] })))).toBe('tools');
  });

  const delta = (delta: object, finish: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const piece = (text: string) => ({ index: 0, function: { arguments: text } });

  test('where a stream is cut into chunks makes no difference', () => {
    const fine = events(
      delta({ role: 'assistant', content: '' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      delta({}, 'stop'),
      '[DONE]',
    );
    const coarse = events(delta({ content: 'Hello' }), delta({}, 'stop'), { choices: [], usage: {} }, '[DONE]');
    expect(differenceOf(fine, coarse)).toBeNull();
    expect(differenceOf(fine, json(whole))).toBeNull();
    expect(differenceOf(fine, events(delta({ content: 'Hello!' }), delta({}, 'stop')))).toBe('text');
    expect(differenceOf(fine, events(delta({ content: 'Hello' })))).toBe('finish');
  });

  test('a tool’s input is put together from its pieces', () => {
    const begun = { tool_calls: [{ index: 0, id: 'x', function: { name: 'f', arguments: '' } }] };
    const one = events(delta(begun), delta({ tool_calls: [piece('{"a"')] }), delta({ tool_calls: [piece(':1}')] }));
    expect(differenceOf(one, events(delta(begun), delta({ tool_calls: [piece('{"a":1}')] })))).toBeNull();
    expect(differenceOf(one, events(delta(begun), delta({ tool_calls: [piece('{"a":2}')] })))).toBe('tools');
  });

  test('completions have their text in the choice', () => {
    const text = (text: string) => json({ choices: [{ index: 0, text, finish_reason: 'stop' }] });
    expect(differenceOf(text('a'), text('a'))).toBeNull();
    expect(differenceOf(text('a'), text('b'))).toBe('text');
  });
});

describe('messages', () => {
  const say = (content: object[], stop = 'end_turn') =>
    json({
      id: `msg_${content.length}`,
      type: 'message',
      role: 'assistant',
      content,
      stop_reason: stop,
      stop_sequence: null,
    });
  const text = { type: 'text', text: 'Hello' };
  const use = (input: object, id = 'toolu_1') => ({ type: 'tool_use', id, name: 'f', input });

  test('texts, tools and the reason for the end are compared, ids are not', () => {
    expect(differenceOf(say([text, use({ a: 1 })]), say([text, use({ a: 1 }, 'toolu_2')]))).toBeNull();
    expect(differenceOf(say([text]), say([{ ...text, text: 'Hullo' }]))).toBe('text');
    expect(differenceOf(say([text]), say([{ type: 'thinking', thinking: 'Hello', signature: 's' }]))).toBe('text');
    expect(differenceOf(say([use({ a: 1 })]), say([use({ a: 2 })]))).toBe('tools');
    expect(differenceOf(say([text]), say([text], 'max_tokens'))).toBe('finish');
  });

  const start = (id: string) => ({
    type: 'message_start',
    message: { id, type: 'message', content: [], stop_reason: null },
  });
  const block = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
  const delta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta });
  const end = (stop_reason: string) => ({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null },
    usage: {},
  });
  const stream = (id: string, pieces: readonly string[], inputs: readonly string[], stop = 'tool_use') =>
    events(
      start(id),
      block(0, { type: 'text', text: '' }),
      ...pieces.map((text) => delta(0, { type: 'text_delta', text })),
      { type: 'ping' },
      block(1, { type: 'tool_use', id, name: 'f', input: {} }),
      ...inputs.map((partial_json) => delta(1, { type: 'input_json_delta', partial_json })),
      end(stop),
      { type: 'message_stop' },
    );

  test('where a stream is cut into events makes no difference', () => {
    const one = stream('a', ['Hel', 'lo'], ['{"a"', ':1}']);
    expect(differenceOf(one, stream('b', ['Hello'], ['', '{"a":1}']))).toBeNull();
    expect(differenceOf(one, stream('b', ['Hello!'], ['{"a":1}']))).toBe('text');
    expect(differenceOf(one, stream('b', ['Hello'], ['{"a":2}']))).toBe('tools');
    expect(differenceOf(one, stream('b', ['Hello'], ['{"a":1}'], 'end_turn'))).toBe('finish');
  });
});

describe('other answers', () => {
  const part = (text: string, more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }],
    responseId: text,
  });

  test('are compared by all they say, texts put together', () => {
    const one = events(part('Hel'), part('lo', { finishReason: 'STOP' }));
    expect(differenceOf(one, events(part('Hello', { finishReason: 'STOP' })))).toBeNull();
    expect(differenceOf(one, events(part('Hello', { finishReason: 'MAX_TOKENS' })))).toBe('rest');
    expect(differenceOf(one, events(part('Hullo', { finishReason: 'STOP' })))).toBe('rest');
  });

  test('lines of JSON and arrays of it are streams like events', () => {
    const lines = (...values: object[]) =>
      fingerprint({
        status: '200',
        contentType: 'application/x-ndjson',
        body: Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join('')),
      });
    const one = lines({ response: 'Hel', done: false }, { response: 'lo', done: true, total_duration: 1 });
    expect(differenceOf(one, lines({ response: 'Hello', done: true, total_duration: 2 }))).toBeNull();
    expect(differenceOf(one, lines({ response: 'Hello', done: false }))).toBe('rest');
    expect(differenceOf(json([part('Hel'), part('lo')]), json([part('Hello')]))).toBeNull();
  });

  test('events of the responses API differ by their type', () => {
    const done = (text: string) => ({
      type: 'response.completed',
      response: { id: text, output: [{ type: 'message', id: text, content: [{ text: 'Hello' }] }] },
    });
    const delta = (text: string) => ({
      type: 'response.output_text.delta',
      item_id: 'i',
      sequence_number: text.length,
      delta: text,
    });
    expect(differenceOf(events(delta('Hel'), delta('lo'), done('x')), events(delta('Hello'), done('y')))).toBeNull();
    expect(differenceOf(events(delta('Hel'), done('x')), events(delta('Hello'), done('y')))).toBe('rest');
  });

  test('vectors are compared number by number', () => {
    expect(differenceOf(json({ data: [{ embedding: [0.1, 0.2] }] }), json({ data: [{ embedding: [0.1, 0.3] }] }))).toBe(
      'rest',
    );
  });

  test('another status is a difference, and so are data that are no JSON', () => {
    expect(differenceOf(json({}), json({}, '400'))).toBe('status');
    expect(differenceOf(events('nonsense'), events('nonsense'))).toBeNull();
    expect(differenceOf(events('nonsense'), events('other'))).toBe('rest');
  });

  test('a name that is as long as the answer costs no more for all the values below it', () => {
    const body = { ['n'.repeat(100_000)]: Array.from({ length: 20_000 }, (_, item) => [`${item}`]) };
    expect(differenceOf(json({ output: body }), json({ output: { ...body } }))).toBeNull();
  });

  test('members are the same in any order, and a name is not taken for two', () => {
    expect(differenceOf(json({ a: 1, b: { c: 2 } }), json({ b: { c: 2 }, a: 1 }))).toBeNull();
    expect(differenceOf(json({ 'a/b': 1 }), json({ a: { b: 1 } }))).toBe('rest');
    expect(differenceOf(json({ a: 1, b: {}, c: [], d: { id: 'x', e: [{}] } }), json({ a: 1 }))).toBeNull();
    expect(differenceOf(json({ a: [1, 2] }), json({ a: ['1', 2] }))).toBe('rest');
  });

  test('no depth, name or size of a hostile body makes it throw', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    for (const body of [
      deep,
      '{"choices":['.repeat(500),
      '{"__proto__":{"text":1}}',
      `{"choices":[{"message":{"content":${deep}}}]}`,
      '{"\\ud800":1,"choices":[{"message":{"\\udfff":"x"}}]}',
      '',
    ]) {
      for (const contentType of ['application/json', 'text/event-stream']) {
        expect(fingerprint({ status: '200', contentType, body: Buffer.from(body) }).status).toBe('200');
      }
    }
  });
});

test('texts can be taken apart, binary event streams cannot', () => {
  const types = [
    'application/json',
    'application/json; charset=utf-8',
    'text/event-stream',
    'application/x-ndjson',
    'application/problem+json',
  ];
  expect(types.map(isReadable)).toEqual(types.map(() => true));
  expect(['application/vnd.amazon.eventstream', 'application/octet-stream', ''].map(isReadable)).toEqual([
    false,
    false,
    false,
  ]);
});
