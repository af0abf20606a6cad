/** `tls`: who may connect to the gRPC port, who shares with whom over it, and certificates that change under load. */
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { begin, chat } from '../../harness/http-client.ts';
import { clusterNamed, replacePorts, shippedEnvoyConfig, type EnvoyConfig } from '../../harness/stack.ts';
import { startEnvoy, type EnvoyProcess } from '../../harness/stack/envoy-process.ts';
import { bundle, CertificateFolder, type Issued } from '../support/certificates.ts';
import { connectByTls } from '../support/mtls.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { keepCalling } from '../support/steady-load.ts';

const folder = new CertificateFolder();
afterAll(() => folder.remove());
const authority = folder.authority('authority');
const stranger = folder.authority('stranger');
const fleetA = authority.issue('fleet-a', { names: 'URI:spiffe://mesh/fleet-a' });
const fleetB = authority.issue('fleet-b', { names: 'URI:spiffe://mesh/fleet-b' });

/** What the processor's files hold: replaced by the tests, one file at a time. */
const files = { cert: folder.at('live.pem'), key: folder.at('live.key'), client_ca: folder.at('live-ca.pem') };
function install(from: Partial<Record<keyof typeof files, string>>): void {
  for (const key of ['cert', 'key', 'client_ca'] as const) {
    const path = from[key];
    if (path === undefined) continue;
    copyFileSync(path, `${files[key]}.new`);
    renameSync(`${files[key]}.new`, files[key]);
  }
}
const serverNames = { names: 'DNS:coalescer' };
install({ ...authority.issue('server', serverNames), client_ca: authority.cert });

const applied = 'coalesce_config_reloads_total{result="applied"}';
const refused = 'coalesce_config_reloads_total{result="refused"}';

const shared = new SharedStack({
  leg: 'attached',
  config: { tls: files },
  mutateEnvoy: (config) => {
    connectByTls(config, { trusts: authority.cert, shows: fleetA });
    shortenConnections(config);
  },
});

/** Connections end after a few requests, so that new certificates are met soon. */
function shortenConnections(config: EnvoyConfig): void {
  const options = clusterNamed(config, 'coalescer')['typed_extension_protocol_options'] as Record<
    string,
    { common_http_protocol_options: { max_requests_per_connection: number } }
  >;
  for (const each of Object.values(options)) each.common_http_protocol_options.max_requests_per_connection = 20;
}

/** Another Envoy on the same processor and mock. */
async function otherEnvoy(secure: (config: EnvoyConfig) => void): Promise<EnvoyProcess & { url: string }> {
  const config = await shippedEnvoyConfig('attached');
  replacePorts(config, { llm: shared.stack.mock.port, coalescer: shared.stack.processorPort });
  secure(config);
  const own = await mkdtemp(join(tmpdir(), 'envoy-coalescer-other-'));
  const envoy = await startEnvoy(config, { folder: own, version: undefined, concurrency: 1, args: [] });
  const end = async (): Promise<void> => {
    await envoy.end();
    await rm(own, { recursive: true, force: true });
  };
  return { ...envoy, end, url: `http://127.0.0.1:${envoy.ports.get('ingress') ?? 0}` };
}

/** The certificate that a new connection is shown; rejects where it is not let in. */
function shownCertificate(as: Issued): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const own = { cert: bundle(as.cert), key: bundle(as.key), ca: bundle(authority.cert) };
    const port = shared.stack.processorPort;
    const socket = connect({ port, ...own, ALPNProtocols: ['h2'], servername: 'coalescer' });
    socket.once('error', reject);
    // The server speaks first in HTTP/2 where it lets somebody in; with TLS 1.3 a refusal comes after the handshake.
    socket.once('data', () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.once('close', () => reject(new Error('closed')));
  });
}

test('callers share over mTLS', async () => {
  await allDone(await shared.fly([1, 2, 3].map(() => shared.chat('over mTLS'))));
  expect(shared.calls).toHaveLength(1);
});

describe('two fleets', () => {
  let other: Awaited<ReturnType<typeof otherEnvoy>>;
  beforeAll(async () => {
    other = await otherEnvoy((config) => connectByTls(config, { trusts: authority.cert, shows: fleetB }));
  });
  afterAll(() => other.end());

  test('with certificates of their own share nothing with each other', async () => {
    const pacer = shared.pacedAnswer();
    const ask = (url: string): ReturnType<typeof begin> =>
      begin({ url, ...chat('the same prompt', { headers: { host: 'gateway' } }) });
    const ours = [ask(shared.stack.ingress.url)];
    await shared.waitForCalls(1);
    const theirs = [ask(other.url)];
    await shared.waitForCalls(2);
    ours.push(ask(shared.stack.ingress.url));
    theirs.push(ask(other.url));
    await shared.waitForJoins(2);
    pacer.openAll();
    expectWhole(await allDone(ours), shared.calls[0]);
    expectWhole(await allDone(theirs), shared.calls[1]);
    expect(shared.calls).toHaveLength(2);
  });
});

test.each<[title: string, secure: (config: EnvoyConfig) => void]>([
  ['without a certificate', (config) => connectByTls(config, { trusts: authority.cert, shows: null })],
  [
    'with one of another authority',
    (config) => connectByTls(config, { trusts: authority.cert, shows: stranger.issue('intruder') }),
  ],
  [
    'with an expired one',
    (config) => connectByTls(config, { trusts: authority.cert, shows: authority.issue('late', { days: -1 }) }),
  ],
  ['in plain text', () => undefined],
])('an Envoy %s is not let in, and its callers go upstream by themselves', async (_, secure) => {
  const decided = async (): Promise<number> => shared.counted('coalesce_misses_total');
  const other = await otherEnvoy(secure);
  try {
    const exchanges = await allDone([1, 2].map(() => begin({ url: other.url, ...chat('let me in') })));
    for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
    expect(shared.calls).toHaveLength(2);
    expect(await decided()).toBe(0);
    const stats = await other.stats('ext_proc');
    expect(stats.get('http.ingress.ext_proc.decide.streams_failed')).toBe(2);
  } finally {
    await other.end();
  }
});

test('a certificate that is renewed file by file under load is shown from then on, and fails nobody', async () => {
  shared.answerWith({ tokens: 5, gapMs: 5 });
  const before = await shownCertificate(fleetA);
  const long = shared.newPacer();
  shared.answerWith((call) => (call.body.toString().includes('long') ? { pace: long.pace } : { tokens: 5, gapMs: 5 }));
  const streaming = [1, 2].map(() => begin(shared.chat('long')));
  await shared.waitForJoins(1);
  long.open('head', 0);
  await Promise.all(streaming.map((each) => each.waitForBytes(1)));
  const endLoad = keepCalling(shared, 6);
  for (let round = 1; round <= 3; round += 1) {
    const renewed = authority.issue(`server-${round}`, serverNames);
    install({ cert: renewed.cert });
    // The new certificate beside the old key is no pair: refused until the key comes.
    await shared.waitForCount(refused, round);
    install({ key: renewed.key });
    await shared.waitForCount(applied, round);
  }
  expect(Math.min(...(await endLoad()))).toBeGreaterThan(1);
  const after = await shownCertificate(fleetA);
  expect(after.serialNumber).not.toBe(before.serialNumber);
  long.openAll();
  expectWhole(
    await allDone(streaming),
    shared.calls.find((call) => call.body.toString().includes('long')),
  );
  const stats = await shared.stack.envoy.stats('ext_proc');
  expect(stats.get('http.ingress.ext_proc.decide.streams_failed')).toBe(0);
});

test('an authority that is added lets its Envoys in, one that is taken out lets nobody in any more', async () => {
  const intruder = stranger.issue('newcomer', { names: 'URI:spiffe://mesh/fleet-c' });
  await expect(shownCertificate(intruder)).rejects.toThrow();
  const both = folder.at('both.pem');
  writeFileSync(both, bundle(authority.cert, stranger.cert));
  install({ client_ca: both });
  await shared.waitForCount(applied, 1);
  await shownCertificate(intruder);
  install({ client_ca: stranger.cert });
  await shared.waitForCount(applied, 2);
  await expect(shownCertificate(fleetA)).rejects.toThrow();
  install({ client_ca: authority.cert });
  await shared.waitForCount(applied, 3);
  await shownCertificate(fleetA);
});
