/** An admin listener whose flights and counters are made up, and the few minutes of traffic that a picture of it needs. */
import type { BrowserPage } from '../../harness/chromium.ts';
import { startAdmin, type Admin, type FlightRow } from '../../src/observe/admin.ts';
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts';

export interface BusyAdmin {
  readonly admin: Admin;
  readonly url: string;
  readonly metrics: Metrics;
}

const row: FlightRow = {
  ...{ id: '1', key8: '9d0369ce', leg: 'detached', fleet: 'apart', phase: 'streaming', age_ms: 1200 },
  ...{ waiters: 3, bytes: 56_000, model: 'a-model', policy: 'default' },
};

/** Serves these flights, each filled up from a plain one; on a free port unless it is given. */
export async function startBusyAdmin(flights: readonly Partial<FlightRow>[], port = 0): Promise<BusyAdmin> {
  const rows = flights.map((flight, index) => ({ ...row, id: String(index), ...flight }));
  const sum = (read: (one: FlightRow) => number): number => rows.reduce((total, one) => total + read(one), 0);
  const totals = { flights: rows.length, waiters: sum((one) => one.waiters), queue: 0, streams: rows.length };
  const bytes = sum((one) => one.bytes);
  const metrics = createMetrics(() => ({ ...totals, replayBytes: bytes, oldestFlightMs: 0 }));
  const sources = {
    metrics: metrics.page,
    ready: () => true as const,
    flights: () => ({ flights: rows, totals: { ...totals, replay_bytes: bytes } }),
  };
  const admin = await startAdmin({ address: { kind: 'tcp', host: '127.0.0.1', port }, pages: 'all', sources });
  return { admin, metrics, url: `http://${admin.address}/` };
}

/** Counts what four minutes of traffic would, while the page's clock runs ahead. */
export async function passMinutes(page: BrowserPage, metrics: Metrics): Promise<void> {
  await page.evaluate(`(() => {
    const now = Date.now;
    let ahead = 0;
    Date.now = () => now() + ahead;
    globalThis.advance = (ms) => { ahead += ms; return refresh(); };
  })()`);
  for (let step = 0; step < 118; step += 1) {
    const made = step % 29 < 5 ? 0 : Math.round(1 + Math.abs(Math.sin(step / 9)) * 3);
    const joined = Math.round(made * (1 + 3 * Math.abs(Math.sin(step / 23)))) + (made > 0 && step % 17 === 0 ? 14 : 0);
    repeat(made, () => (metrics.countMiss(), metrics.countUpstreamCall(), metrics.countFlightEnding('landed')));
    repeat(joined, metrics.countHit);
    repeat(made, () => metrics.countBypass(step % 3 === 0 ? 'side_effects' : 'nondeterministic'));
    repeat(step % 2, () => metrics.countShadow(step === 31 ? 'diverged' : 'would_hit'));
    await page.evaluate('advance(2000)');
  }
  repeat(17, () => metrics.countBypass('no_tenant'));
  repeat(2, () => metrics.countFlightEnding('failed_status'));
  repeat(9, () => metrics.countShadow('same'));
  await page.evaluate('advance(0)');
}

function repeat(count: number, action: () => void): void {
  for (let index = 0; index < count; index += 1) action();
}
