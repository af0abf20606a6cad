/** A model that thinks after its answer's head: callers in deliver are sent comments, and the answer stays as it is. */
import { describe, expect, test } from 'vitest';
import { allDone, SharedStack } from '../support/shared-stack.ts';
import { callInOrder, legs } from './callers.ts';

const comment = ': keep-alive\n\n';

describe.each(legs)('%s, a comment each 100 ms', (leg) => {
  const shared = new SharedStack({ leg, config: { deadlines: { keep_alive: '100ms' } } });

  test('who waits in deliver gets comments between events; without them the answer is the upstream’s', async () => {
    const pacer = shared.pacedAnswer();
    const sent = await callInOrder(shared.stack, 'thinking', 3);
    pacer.open('head', 0);
    const [, second, third] = sent;
    await pacer.reached(1);
    const began = Buffer.concat(shared.calls[0]?.sent ?? []).length;
    for (const caller of [second, third]) await caller?.waitForBytes(began + 3 * comment.length);
    const [late] = await callInOrder(shared.stack, 'thinking', 1);
    await late?.waitForBytes(began + comment.length);
    pacer.openAll();
    const exchanges = await allDone([...sent, ...(late === undefined ? [] : [late])]);
    const whole = Buffer.concat(shared.calls[0]?.sent ?? []).toString();
    expect(shared.calls).toHaveLength(1);
    for (const [index, { ending, body }] of exchanges.entries()) {
      expect(ending).toBe('complete');
      expect(body.toString().replaceAll(comment, '')).toBe(whole);
      // The attached leader's bytes pass us by.
      if (leg === 'attached' && index === 0) expect(body.toString()).toBe(whole);
    }
    // What was sent before it came is no part of the record.
    expect(exchanges[3]?.body.toString().startsWith(whole.slice(0, began))).toBe(true);
  });

  test('an answer that is no event stream gets none', async () => {
    const pacer = shared.pacedAnswer({ headers: [['content-type', 'application/x-ndjson']] });
    const sent = await callInOrder(shared.stack, 'lines', 2);
    pacer.open('head', 0);
    await pacer.reached(1);
    await sent[1]?.waitForBytes(1);
    // As long as three comments would have taken.
    const startedAt = performance.now();
    while (performance.now() - startedAt < 400) await shared.stack.processor.metrics();
    pacer.openAll();
    const exchanges = await allDone(sent);
    const whole = Buffer.concat(shared.calls[0]?.sent ?? []).toString();
    for (const { body } of exchanges) expect(body.toString()).toBe(whole);
  });
});
