/** Shadow mode: it says what would have been shared and whether that is safe, and clients notice nothing of it. */
import { describe, expect, test, vi } from 'vitest';
import { begin, send, type Sent } from '../../harness/http-client.ts';
import { allDone, SharedStack } from '../support/shared-stack.ts';

const hit = 'coalesce_shadow_total{verdict="would_hit"}';
const same = 'coalesce_shadow_total{verdict="same"}';
const diverged = 'coalesce_shadow_total{verdict="diverged"}';

type Call = { api?: 'openai' | 'anthropic'; stream?: boolean; model?: string };

const forms: readonly Call[] = (['openai', 'anthropic'] as const).flatMap((api) =>
  [true, false].map((stream) => ({ api, stream })),
);

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  describe('all would-be hits are compared', () => {
    const shared = new SharedStack({ leg, config: { mode: 'shadow', shadow: { compare: 1 } } });

    /** Two calls under way together, of which the second would have joined the first. `dice`: each gets another answer. */
    async function pair(
      prompt: string,
      { api = 'openai', stream = true, model = 'mock-1' }: Call = {},
    ): Promise<Sent[]> {
      const pacer = shared.newPacer();
      const framing = stream ? 'chunked' : 'length';
      shared.answerWith(({ id }) => ({ tokens: 5 + (prompt === 'dice' ? id % 2 : 0), pace: pacer.pace, framing }));
      const request = shared.chat(prompt, { api, body: { stream, model } });
      const sent = [begin(request)];
      await pacer.reached('head');
      sent.push(begin(request));
      await shared.waitForCalls(2);
      pacer.openAll();
      return sent;
    }

    test.for(forms)('an upstream that answers alike: the same ($api, stream $stream)', async (form) => {
      const exchanges = await allDone(await pair('certain', form));
      await shared.waitForCount(same, 1);
      expect(await shared.counted(hit)).toBe(1);
      expect(await shared.counted(diverged)).toBe(0);
      expect(new Set(exchanges.map(({ headers }) => headers['x-mock-call'])).size).toBe(2);
      for (const exchange of exchanges) {
        const call = shared.callOf(exchange);
        expect(exchange).toMatchObject({ status: 200, ending: 'complete' });
        expect(exchange.body.equals(Buffer.concat(call?.sent ?? []))).toBe(true);
        expect(exchange.headers['x-mock-call']).toBe(String(call?.id));
        expect(exchange.headers).not.toHaveProperty('cache-status');
      }
    });

    test.for(forms)('an upstream that throws dice: diverged ($api, stream $stream)', async (form) => {
      const exchanges = await allDone(await pair('dice', form));
      await shared.waitForCount(diverged, 1);
      expect(await shared.counted(same)).toBe(0);
      for (const exchange of exchanges) expect(exchange).toMatchObject({ status: 200, ending: 'complete' });
    });

    test('the verdict is logged with model, route and tokens, the hit with its would-be flight', async () => {
      await allDone(await pair('logged', { model: 'mock-logged', stream: false }));
      const line = await vi.waitFor(async () => {
        const lines = await shared.stack.processor.log();
        return lines.find((each) => each['event'] === 'answers_compared' && each['model'] === 'mock-logged') ?? fail();
      }, 5_000);
      expect(line).toMatchObject({ verdict: 'same', difference: null, policy: 'default', completionTokens: 5 });
      expect(line['route']).toEqual(expect.any(String));
      expect(line['key8']).toMatch(/^[0-9a-f]{8}$/);
      await vi.waitFor(async () => {
        const lines = await shared.stack.processor.log();
        const ofFlight = lines.filter((each) => each['wouldFlight'] === line['flight']);
        expect(new Set(ofFlight.map((each) => each['would']))).toEqual(new Set(['follower', 'leader']));
      }, 5_000);
    });

    test('answers that clients let be compressed are compared', async () => {
      const pacer = shared.pacedAnswer({ gzip: true, framing: 'length' });
      const request = shared.chat('gzip', { body: { stream: false }, headers: { 'accept-encoding': 'gzip' } });
      const sent = [begin(request)];
      await pacer.reached('head');
      sent.push(begin(request));
      await shared.waitForCalls(2);
      pacer.openAll();
      for (const exchange of await allDone(sent)) expect(exchange.headers['content-encoding']).toBe('gzip');
      await shared.waitForCount(same, 1);
    });

    test('a client that leaves half-way is no verdict, and harms nobody', async () => {
      const pacer = shared.pacedAnswer();
      const request = shared.chat('left');
      const leaver = begin(request);
      await pacer.reached('head');
      const other = begin(request);
      await shared.waitForCalls(2);
      leaver.leave();
      await shared.calls[0]?.ended;
      pacer.openAll();
      expect(await other.done).toMatchObject({ status: 200, ending: 'complete' });
      expect((await shared.counted(same)) + (await shared.counted(diverged))).toBe(0);
    });

    test('a lone call passes, and what was captured of it is let go', async () => {
      expect(await send(shared.chat('lone'))).toMatchObject({ status: 200, ending: 'complete' });
      expect(await shared.counted(hit)).toBe(0);
    });
  });

  describe('none is compared', () => {
    const shared = new SharedStack({ leg, config: { mode: 'shadow', shadow: { compare: 0 } } });

    test('answers keep their content-length, and hits are counted', async () => {
      const pacer = shared.pacedAnswer({ framing: 'length' });
      const request = shared.chat('plain', { body: { stream: false } });
      const sent = [begin(request)];
      await pacer.reached('head');
      sent.push(begin(request));
      await shared.waitForCalls(2);
      pacer.openAll();
      for (const exchange of await allDone(sent)) {
        expect(exchange.headers['content-length']).toBe(String(exchange.body.length));
      }
      expect(await shared.counted(hit)).toBe(1);
      expect((await shared.counted(same)) + (await shared.counted(diverged))).toBe(0);
    });
  });
});

function fail(): never {
  throw new Error('not yet');
}
