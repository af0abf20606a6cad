/** The live page in a real browser. Without one the tests are skipped, but for CI. */
import process from 'node:process';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { findChromium, startChromium, type BrowserPage, type Screen } from '../../harness/chromium.ts';
import { begin } from '../../harness/http-client.ts';
import { passMinutes, startBusyAdmin, type BusyAdmin } from '../support/busy-admin.ts';
import { allDone, SharedStack } from '../support/shared-stack.ts';

const desktop: Screen = { width: 1100, height: 900, scheme: 'light' };
const phone: Screen = { width: 390, height: 844, scheme: 'dark' };
const patience = { timeout: 10_000, interval: 50 };
const withBrowser = describe.skipIf(findChromium() === undefined && process.env['CI'] === undefined);

/** What the page shows: the values of its numbers by id, its flights as rows of text, its counts by word. */
type Shown = {
  readonly state: string;
  readonly values: Readonly<Record<string, string>>;
  readonly flights: readonly (readonly string[])[];
  readonly bars: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

const look = `(() => {
  const pairs = (nodes, read) => Object.fromEntries([...nodes].map(read));
  return {
    state: document.getElementById('state').textContent,
    values: pairs(document.querySelectorAll('data[id]'), (one) => [one.id, one.value]),
    flights: [...document.querySelectorAll('#flights tr')].map((row) => [...row.cells].map((cell) => cell.textContent)),
    bars: pairs(document.querySelectorAll('ul.bars'), (list) => [list.id, pairs(list.children, (item) => [item.dataset.word, item.querySelector('data').value])]),
  };
})()`;

async function shown(page: BrowserPage): Promise<Shown> {
  return (await page.evaluate(look)) as Shown;
}

withBrowser('the live page', () => {
  let page: BrowserPage;
  const admins: BusyAdmin[] = [];
  beforeAll(async () => {
    page = await startChromium();
  });
  afterEach(async () => {
    for (const { admin } of admins.splice(0)) await admin.close();
  });
  afterAll(() => page.close());

  async function open(flights: Parameters<typeof startBusyAdmin>[0], screen = desktop): Promise<BusyAdmin> {
    const busy = await startBusyAdmin(flights);
    admins.push(busy);
    await page.open(busy.url, screen);
    await vi.waitFor(async () => expect((await shown(page)).state).toBe('live'), patience);
    return busy;
  }

  test('asks for nothing but its own two pages, and has nothing to complain about', async () => {
    const earlier = page.requests().length;
    const { url } = await open([{}]);
    expect(new Set(page.requests().slice(earlier))).toEqual(new Set([url, `${url}flights`, `${url}metrics`]));
    expect(page.complaints()).toEqual([]);
  });

  test('shows a hostile name as the text that it is', async () => {
    const hostile = [
      '<img src=x onerror="globalThis.owned = 1">',
      '</td></tr></table><script>globalThis.owned = 1</script>',
      '{{constructor.constructor("globalThis.owned = 1")()}}',
      'x" onmouseover="globalThis.owned = 1',
    ];
    await open([...hostile.map((model) => ({ model })), { model: 'a\u202eb\u0000c\nd' }, { model: null }]);
    const models = (await shown(page)).flights.map(([model]) => model);
    expect(models).toEqual([...hostile, String.raw`a\u202eb\u0000c\u000ad`, '–']);
    expect(await page.evaluate('typeof globalThis.owned')).toBe('undefined');
    expect(await page.evaluate("document.querySelectorAll('img, main script').length")).toBe(0);
    expect(page.complaints()).toEqual([]);
  });

  test('lets no other script run, inline or from elsewhere', async () => {
    await open([{}]);
    await page.evaluate(`(() => {
      const script = document.createElement('script');
      script.textContent = 'globalThis.owned = 1';
      document.body.append(script);
      document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="globalThis.owned = 1">');
    })()`);
    expect(await page.evaluate('typeof globalThis.owned')).toBe('undefined');
    expect(await page.evaluate("fetch('http://127.0.0.1:1/').then(() => 'went', (error) => error.message)")).not.toBe(
      'went',
    );
    expect(page.complaints().join()).toContain('Content Security Policy');
  });

  test.each([desktop, phone, { ...phone, width: 320 }])('fits a screen of $width px', async (screen) => {
    await open([{ model: 'a-model-with-a-name-that-does-not-end'.repeat(5), waiters: 9999, bytes: 8_388_608 }], screen);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width);
    const isCut =
      "[...document.querySelectorAll('.tile data, #state, h2')].some((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)";
    expect(await page.evaluate(isCut)).toBe(false);
  });

  test('is light or dark as its reader is, with text that can be read', async () => {
    await open([{}]);
    const grounds: number[] = [];
    for (const scheme of ['light', 'dark'] as const) {
      await page.resize({ ...desktop, scheme });
      const [ground, ...inks] = (await page.evaluate(luminances)) as number[];
      grounds.push(ground ?? NaN);
      for (const ink of inks) expect(contrast(ink, ground ?? NaN)).toBeGreaterThan(4.5);
    }
    expect(grounds[0]).toBeGreaterThan(0.8);
    expect(grounds[1]).toBeLessThan(0.05);
  });

  test('says so when the processor is gone, and when it is back', async () => {
    const { admin, url } = await open([{}]);
    admins.length = 0;
    await admin.close();
    await vi.waitFor(async () => expect((await shown(page)).state).toMatch(/^no answer since /), patience);
    admins.push(await startBusyAdmin([{}, {}], Number(new URL(url).port)));
    await vi.waitFor(async () => expect((await shown(page)).values['flights-now']).toBe('2'), patience);
  });

  test('draws minutes of traffic', async () => {
    const models = ['claude-sonnet-4-5', 'gpt-4.1', 'gpt-4.1-mini', 'meta-llama/Llama-3.3-70B-Instruct'];
    const flights = models.map((model, index) => ({
      ...{
        model,
        age_ms: 17_400 - index * 4100,
        waiters: [3, 1, 19, 0][index] ?? 0,
        bytes: [56_000, 45_220, 81_223, 0][index] ?? 0,
      },
      ...{
        leg: index === 1 ? ('attached' as const) : ('detached' as const),
        phase: index === 3 ? 'waiting' : 'streaming',
      },
      key8: ['b72ea61b', '82d82d81', '4e81b4e7', '68acf134'][index] ?? '',
    }));
    const { metrics } = await open(flights);
    await passMinutes(page, metrics);
    expect(await page.evaluate("document.querySelectorAll('#calls .made').length")).toBeGreaterThan(60);
    expect(await page.evaluate("document.querySelectorAll('#gain .gain-line').length")).toBeGreaterThan(0);
    expect((await shown(page)).bars['shadow']).toEqual({ would_hit: '58', same: '9', diverged: '1' });
    // How docs/admin-page.png is made.
    const picture = process.env['ADMIN_PAGE_PNG'];
    if (picture !== undefined) await page.screenshot(picture);
  });
});

/** Of the card's ground, then of the text on it: relative luminance after WCAG. */
const luminances = `(() => {
  const of = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((part) => part / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = (selector) => getComputedStyle(document.querySelector(selector));
  return [of(style('section').backgroundColor), ...['.tile > data', '.tile p', 'section h2', '#flights td', 'footer'].map((one) => of(style(one).color))];
})()`;

function contrast(ink: number, ground: number): number {
  return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
}

withBrowser('the live page of a running processor', () => {
  const shared = new SharedStack({ leg: 'detached' });
  let page: BrowserPage;
  beforeAll(async () => {
    page = await startChromium();
  });
  afterAll(() => page.close());

  test('shows a burst while it runs, and afterwards the same numbers as /metrics', async () => {
    await page.open(`${shared.stack.processor.adminUrl}/`, desktop);
    const pacer = shared.pacedAnswer();
    const sent = Array.from({ length: 10 }, () => begin(shared.chat('a prompt that nobody may see')));
    await shared.waitForJoins(9);
    await vi.waitFor(async () => {
      const { flights, values } = await shown(page);
      expect(flights).toHaveLength(1);
      expect(flights[0]).toEqual(expect.arrayContaining(['mock-1', 'detached', '9']));
      expect(values).toMatchObject({ 'flights-now': '1', 'waiters-now': '9', saved: '9', logical: '10' });
    }, patience);
    expect(await page.evaluate('document.documentElement.outerHTML')).not.toContain('nobody may see');
    pacer.openAll();
    await allDone(sent);
    await begin(shared.chat('another', { body: { temperature: 1 } })).done;
    await vi.waitFor(async () => expect(numbersOf(await shown(page))).toEqual(await expectedNumbers()), patience);
    expect(await shown(page)).toMatchObject({ state: 'live', flights: [], values: { 'gain-now': '10' } });
    expect(page.complaints()).toEqual([]);
  });

  function numbersOf({ values, bars }: Shown): Record<string, unknown> {
    return { ...values, ...bars };
  }

  async function expectedNumbers(): Promise<unknown> {
    const samples = await shared.stack.processor.metrics();
    const of = (name: string): string => String(samples.get(`coalesce_${name}`));
    const all = (name: string): Record<string, string> => {
      const entries = [...samples].filter(([key, value]) => key.startsWith(`coalesce_${name}{`) && value > 0);
      return Object.fromEntries(entries.map(([key, value]) => [/"(.*)"/.exec(key)?.[1] ?? '', String(value)]));
    };
    return expect.objectContaining({
      made: of('upstream_calls_total'),
      saved: of('hits_total'),
      logical: String(Number(of('hits_total')) + Number(of('misses_total'))),
      'flights-now': of('flights'),
      'waiters-now': of('waiters'),
      'replay-bytes': of('replay_bytes'),
      queue: of('queue'),
      streams: of('streams'),
      bypass: { ...all('bypass_total'), nondeterministic: '1' },
      shadow: all('shadow_total'),
      endings: { ...all('flight_endings_total'), landed: '1' },
    }) as unknown;
  }
});
