/** The runbook of docs/operations.md for a suspected cross-wire: its commands find who shared, and stop it. */
import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { begin } from '../../harness/http-client.ts';
import { documents, fencedCommands } from '../support/documents.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { legs } from './callers.ts';

const execute = promisify(execFile);
const [stopCommand = '', findFlight = '', findCallers = ''] = documents()
  .flatMap(fencedCommands)
  .flatMap(({ text, comment }) => (comment === 'run by test/fault/cross-wire.test.ts' ? [text] : []));

type Line = Readonly<Record<string, unknown>>;

describe.each(legs)('%s', (leg) => {
  const shared = new SharedStack({ leg });

  async function linesOf(command: string): Promise<Line[]> {
    const { stdout } = await execute('bash', ['-c', command], { cwd: dirname(shared.stack.processor.configPath) });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }

  /** Until the log, which is written in blocks, has them. */
  function waitForLines(command: string, count: number): Promise<Line[]> {
    return vi.waitFor(async () => {
      const log = join(dirname(shared.stack.processor.configPath), 'coalescer.log');
      await copyFile(join(dirname(log), 'processor.out'), log);
      const lines = await linesOf(command);
      expect(lines.length).toBe(count);
      return lines;
    }, 10_000);
  }

  test('from one caller’s request id to everybody who got the same answer', async () => {
    const ids = [1, 2, 3].map((caller) => `cross-wire-${leg}-${caller}`);
    const spelt = (spaces: string): string =>
      `{"model":"m",${spaces}"temperature":0,"messages":[{"role":"user","content":"hi"}]}`;
    const requests = ids.map((id, index) => {
      const request = shared.chat('', { headers: { 'x-request-id': id } });
      return { ...request, body: spelt(index === 2 ? ' ' : '') };
    });
    const other = shared.chat('another prompt', { headers: { authorization: 'Bearer somebody-else' } });
    await allDone(await shared.fly(requests));
    await allDone([begin(other)]);
    const [line] = await waitForLines(findFlight.replace('REQUEST-ID', String(ids[2])), 2);
    const callers = await waitForLines(findCallers.replace('FLIGHT', String(line?.['flight'])), 3);
    const byId = new Map(callers.map((one) => [one['requestId'], one]));
    expect(new Set(byId.keys())).toEqual(new Set(ids));
    expect(ids.map((id) => byId.get(id)?.['outcome'])).toEqual(['leader', 'follower', 'follower']);
    expect(ids.map((id) => byId.get(id)?.['bodyDiffers'])).toEqual([null, false, true]);
    expect(new Set(callers.map((one) => one['policy']))).toEqual(new Set(['default']));
    for (const field of ['tenant', 'key8']) {
      expect(new Set(callers.map((one) => one[field])).size).toBe(1);
      expect(callers[0]?.[field]).toMatch(/^[0-9a-f]{8,16}$/);
    }
    const log = await vi.waitFor(async () => {
      const lines = await shared.stack.processor.log();
      const tenants = new Set(lines.flatMap(({ tenant }) => (typeof tenant === 'string' ? [tenant] : [])));
      expect(tenants.size).toBe(2);
      return lines;
    }, 10_000);
    expect(JSON.stringify(log)).not.toContain('somebody-else');
  });

  test.each([
    ['mode: enforce\n', ''],
    ['', 'mode: enforce'],
    ['', ''],
  ])('the one command stops sharing, of a file that begins with %j and ends with %j', async (first, last) => {
    const { processor } = shared.stack;
    const { mode: _mode, ...started } = processor.config;
    await processor.reload(`${first}${membersOf(started)}${last}`);
    const stop = stopCommand.replace('/etc/coalescer ', `${dirname(processor.configPath)} `);
    const applied = 'coalesce_config_reloads_total{result="applied"}';
    const earlier = await shared.counted(applied);
    await execute('bash', ['-c', stop]);
    await shared.waitForCount(applied, earlier + 1);
    const alone = [1, 2].map(() => begin(shared.chat('stopped')));
    await shared.waitForCalls(2);
    for (const exchange of await allDone(alone)) expectWhole([exchange], shared.callOf(exchange));
    expect(await shared.counted('coalesce_bypass_total{reason="mode_off"}')).toBe(2);
    await writeFile(processor.configPath, membersOf(processor.config));
    await shared.waitForCount(applied, earlier + 2);
  });
});

/** A configuration as a file has it: a member a line. */
function membersOf(config: Readonly<Record<string, unknown>>): string {
  return Object.entries(config)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('');
}
