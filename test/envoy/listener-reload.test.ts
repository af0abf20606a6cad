/**
 * Listeners that change while a flight is under way: nobody in it notices, and new callers find the new listener. When Envoy's
 * drain time is over it closes what is left, and that is a cut.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { begin, type ClientRequest, send, type Sent } from '../../harness/http-client.ts';
import type { EnvoyConfig, Listener } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import type { Pacer } from '../support/pacer.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

/** The listeners of one Envoy, in a file that it watches. */
class WatchedListeners {
  #folder = '';
  #listeners: Listener[] = [];

  constructor() {
    beforeAll(() => {
      this.#folder = mkdtempSync(join(tmpdir(), 'envoy-listeners-'));
    });
    afterAll(() => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** Moves the listeners out of the static configuration. */
  readonly take = (config: EnvoyConfig): void => {
    this.#listeners = config.static_resources.listeners;
    config.static_resources.listeners = [];
    config['node'] = { id: 'test', cluster: 'test' };
    config['dynamic_resources'] = {
      lds_config: { resource_api_version: 'V3', path_config_source: { path: join(this.#folder, 'lds.json') } },
    };
    this.#write();
  };

  change(edit: (listener: Listener) => void): void {
    this.#listeners.forEach(edit);
    this.#write();
  }

  /** Envoy watches for the rename. */
  #write(): void {
    const type = 'type.googleapis.com/envoy.config.listener.v3.Listener';
    const resources = this.#listeners.map((listener) => ({ '@type': type, ...listener }));
    const next = join(this.#folder, 'next.json');
    writeFileSync(next, JSON.stringify({ resources }));
    renameSync(next, join(this.#folder, 'lds.json'));
  }
}

const changes: ReadonlyArray<{ what: string; stat: string; edit: (listener: Listener) => void }> = [
  {
    what: 'another filter chain',
    stat: 'listener_manager.listener_in_place_updated',
    edit: ({ filter_chains }) => {
      for (const { typed_config } of filter_chains.flatMap(({ filters }) => filters))
        typed_config['stat_prefix'] = 'new';
    },
  },
  {
    what: 'another buffer limit',
    stat: 'listener_manager.listener_modified',
    edit: (listener) => {
      listener['per_connection_buffer_limit_bytes'] = 500_000;
    },
  },
];

/** Three of one flight who have its first event; the rest of the answer waits for the pacer. Other calls are answered at once. */
async function callersInMidStream(
  shared: SharedStack,
  request: ClientRequest,
): Promise<{ callers: Sent[]; pacer: Pacer }> {
  const pacer = shared.newPacer();
  shared.answerWith(({ id }) => (id === shared.calls[0]?.id ? { pace: pacer.pace } : {}));
  const callers = [begin(request), begin(request), begin({ ...request, version: 2 })];
  await shared.waitForJoins(2);
  pacer.open('head', 0);
  await Promise.all(callers.map((caller) => caller.waitForBytes(1)));
  return { callers, pacer };
}

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const listeners = new WatchedListeners();
  const shared = new SharedStack({ leg, mutateEnvoy: listeners.take });

  async function statOf(name: string): Promise<number> {
    return (await shared.stack.envoy.stats(`^${name}$`)).get(name) ?? 0;
  }

  test.for(changes)('listeners with $what: a flight in mid-stream ends whole, and new calls work', async (change) => {
    const request = shared.chat(change.what);
    const { callers, pacer } = await callersInMidStream(shared, request);
    const earlier = await statOf(change.stat);
    listeners.change(change.edit);
    await until('new listeners', async () => (await statOf(change.stat)) > earlier);
    await until('warm listeners', async () => (await statOf('listener_manager.total_listeners_warming')) === 0);
    callers.push(begin(request));
    await shared.waitForJoins(3);
    const own = await send(shared.chat(`new, ${change.what}`));
    expectWhole([own], shared.calls[1]);
    pacer.openAll();
    expectWhole(await allDone(callers), shared.calls[0]);
    expect(shared.calls).toHaveLength(2);
  });
});

describe.each(['attached', 'detached'] as const)('%s, a drain time of 2 s', (leg) => {
  const listeners = new WatchedListeners();
  const shared = new SharedStack({
    leg,
    mutateEnvoy: listeners.take,
    envoyArgs: ['--drain-time-s', '2', '--drain-strategy', 'immediate'],
  });

  test.for(changes)('listeners with $what: who is in mid-stream after it is cut, not ended', async ({ what, edit }) => {
    const { callers } = await callersInMidStream(shared, shared.chat(what));
    listeners.change(edit);
    for (const { status, ending } of await allDone(callers)) {
      expect({ status, ending }).toEqual({ status: 200, ending: 'reset' });
    }
    const own = await send(shared.chat(`new, ${what}`));
    expectWhole([own], shared.calls[1]);
  });
});
