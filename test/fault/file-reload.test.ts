/** A changed file is in force without a signal: as kubelet, editors and scripts change files. */
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { begin } from '../../harness/http-client.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { keepCalling } from '../support/steady-load.ts';

const shared = new SharedStack({ leg: 'attached' });
const applied = 'coalesce_config_reloads_total{result="applied"}';
const refused = 'coalesce_config_reloads_total{result="refused"}';

type Members = Readonly<Record<string, unknown>>;
const started = (): Members => shared.stack.processor.config;
const place = (): string => shared.stack.processor.configPath;
const beside = (name: string): string => join(dirname(place()), name);

let version = 0;

/** As kubelet updates a ConfigMap: a new folder, and one link that is swapped to it. */
async function swapConfigMap(config: Members): Promise<void> {
  version += 1;
  await mkdir(beside(`..v${version}`));
  await writeFile(beside(`..v${version}/coalescer.yaml`), stringify(config));
  await symlink(`..v${version}`, beside('..data_tmp'));
  await rename(beside('..data_tmp'), beside('..data'));
  await rm(beside(`..v${version - 1}`), { recursive: true, force: true });
}

/** A file aside that is renamed into its place. */
async function replaceFile(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

const waitForLog = (line: object): Promise<void> =>
  vi.waitFor(async () => {
    expect(await shared.stack.processor.log()).toContainEqual(expect.objectContaining(line));
  }, 10_000);

beforeAll(async () => {
  const before = await shared.stack.processor.metrics();
  await swapConfigMap(started());
  await symlink(join('..data', 'coalescer.yaml'), beside('link'));
  await rename(beside('link'), place());
  await vi.waitFor(async () => {
    expect((await shared.stack.processor.metrics()).get(applied)).toBe((before.get(applied) ?? 0) + 1);
  }, 10_000);
});
afterAll(() => expect(version).toBeGreaterThan(5));

test('a ConfigMap that is swapped is in force within a second, and cuts no flight', async () => {
  const pacer = shared.pacedAnswer();
  const sent = [1, 2].map(() => begin(shared.chat('before the swap')));
  await shared.waitForJoins(1);
  pacer.open('head', 0);
  await Promise.all(sent.map((each) => each.waitForBytes(1)));
  const swappedAt = performance.now();
  await swapConfigMap({ ...started(), mode: 'off' });
  await shared.waitForCount(applied, 1);
  expect(performance.now() - swappedAt).toBeLessThan(1_000);
  const alone = begin(shared.chat('before the swap', { headers: { 'x-request-id': 'swapped' } }));
  await shared.waitForCalls(2);
  pacer.openAll();
  expectWhole(await allDone(sent), shared.calls[0]);
  expectWhole(await allDone([alone]), shared.calls[1]);
  expect(await shared.logLine('swapped')).toMatchObject({ outcome: 'bypass', reason: 'mode_off' });
  await swapConfigMap(started());
  await shared.waitForCount(applied, 2);
});

test('a mistake is refused once, named in the log, and what was in force stays', async () => {
  await swapConfigMap({ ...started(), mode: 'of' });
  await shared.waitForCount(refused, 1);
  await waitForLog({ event: 'reload_refused', mistakes: [expect.stringMatching(/coalescer\.yaml:\d+: mode: "of"/)] });
  await allDone(await shared.fly([1, 2].map(() => shared.chat('still shared'))));
  expect(shared.calls).toHaveLength(1);
  await swapConfigMap(started());
  await shared.waitForCount(applied, 1);
  expect(await shared.counted(refused)).toBe(1);
});

test('a file that is gone is refused, what was in force stays, and its return is read', async () => {
  await rename(place(), beside('away'));
  await shared.waitForCount(refused, 1);
  await waitForLog({ event: 'reload_refused', mistakes: [expect.stringContaining('cannot be read: ENOENT')] });
  await allDone(await shared.fly([1, 2].map(() => shared.chat('without a file'))));
  expect(shared.calls).toHaveLength(1);
  await rename(beside('away'), place());
  await shared.waitForCount(applied, 1);
  expect(await shared.counted(refused)).toBe(1);
});

test('key.secret_file: another secret is another key, with the configuration as it was', async () => {
  const secretFile = beside('secret');
  await writeFile(secretFile, 'a'.repeat(32));
  await swapConfigMap({ ...started(), key: { secret_file: secretFile } });
  await shared.waitForCount(applied, 1);
  const pacer = shared.pacedAnswer();
  const sent = [begin(shared.chat('one prompt, two secrets'))];
  await shared.waitForCalls(1);
  await replaceFile(secretFile, 'b'.repeat(32));
  await shared.waitForCount(applied, 2);
  sent.push(begin(shared.chat('one prompt, two secrets')));
  await shared.waitForCalls(2);
  pacer.openAll();
  for (const exchange of await allDone(sent)) expectWhole([exchange], shared.callOf(exchange));
  await replaceFile(secretFile, 'short');
  await shared.waitForCount(refused, 1);
  await swapConfigMap(started());
  await shared.waitForCount(applied, 3);
});

test('swaps under load fail nobody', async () => {
  shared.answerWith({ tokens: 5, gapMs: 5 });
  const endLoad = keepCalling(shared, 8);
  for (let round = 1; round <= 6; round += 1) {
    await swapConfigMap({ ...started(), late_join: { max_age: `${50 + round}s` } });
    await shared.waitForCount(applied, round);
  }
  expect(Math.min(...(await endLoad()))).toBeGreaterThan(1);
  expect(await shared.counted(refused)).toBe(0);
});
