/**
 * The files of the overlay `shared`, run natively: Envoy and processor know each other by the Secrets' certificates, and go on
 * when kubelet swaps renewed ones in.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clusterNamed, type EnvoyConfig } from '../../harness/stack.ts';
import { CertificateFolder, type Issued } from '../support/certificates.ts';
import { parseShipped, readShipped } from '../support/deployed.ts';
import { until } from '../support/condition.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { keepCalling } from '../support/steady-load.ts';

const overlay = 'deploy/kubernetes/overlays/shared';
const folder = mkdtempSync(join(tmpdir(), 'envoy-coalescer-shared-'));
const certificates = new CertificateFolder();
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  certificates.remove();
});
const authority = certificates.authority('authority');
const serverNames = { names: 'DNS:coalescer.llm-gateway.svc.cluster.local' };
const envoyNames = { names: 'URI:spiffe://llm-gateway/envoy' };

/** A file of the overlay, with this machine's folders in place of the pod's. */
function onThisMachine(text: string): string {
  return text.replaceAll(/\/etc\/(coalescer-tls|coalescer-client-tls|envoy)\b/g, join(folder, '$1'));
}

let versions = 0;
/** As kubelet updates a Secret. */
function mount(secret: string, { cert, key }: Issued): void {
  versions += 1;
  const version = `..v${versions}`;
  mkdirSync(join(folder, secret, version), { recursive: true });
  for (const [name, path] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert })) {
    cpSync(path, join(folder, secret, version, name));
  }
  symlinkSync(version, join(folder, secret, '..data_tmp'));
  renameSync(join(folder, secret, '..data_tmp'), join(folder, secret, '..data'));
}
for (const [secret, first] of [
  ['coalescer-tls', authority.issue('server', serverNames)],
  ['coalescer-client-tls', authority.issue('envoy', envoyNames)],
] as const) {
  mount(secret, first);
  for (const name of ['tls.crt', 'tls.key', 'ca.crt']) symlinkSync(join('..data', name), join(folder, secret, name));
}
mkdirSync(join(folder, 'envoy'));
for (const name of ['client-certificate.yaml', 'processor-authority.yaml']) {
  writeFileSync(join(folder, 'envoy', name), onThisMachine(readShipped(join(overlay, name))));
}

const { tls } = parse(onThisMachine(readShipped(`${overlay}/coalescer.yaml`))) as Record<string, unknown>;
const shared = new SharedStack({
  leg: 'attached',
  config: { tls },
  mutateEnvoy: (config) => {
    const shipped = parseShipped(`${overlay}/envoy.yaml`) as EnvoyConfig;
    config['node'] = shipped['node'];
    const socket = JSON.stringify(clusterNamed(shipped, 'coalescer')['transport_socket']);
    clusterNamed(config, 'coalescer')['transport_socket'] = JSON.parse(onThisMachine(socket)) as unknown;
  },
});

/** How often Envoy has taken certificates from its files. */
async function renewals(): Promise<number> {
  const stats = await shared.stack.envoy.stats('ssl_context_update_by_sds');
  return [...stats.values()].reduce((sum, count) => sum + count, 0);
}

test('callers share over mTLS, before and after both Secrets are renewed under load', async () => {
  expectWhole(await allDone(await shared.fly([1, 2, 3].map(() => shared.chat('hello')))), shared.calls[0]);
  expect(shared.calls).toHaveLength(1);
  shared.answerWith({ tokens: 5, gapMs: 5 });
  const endLoad = keepCalling(shared, 4);
  const earlierRenewals = await renewals();
  mount('coalescer-tls', authority.issue('server-renewed', serverNames));
  mount('coalescer-client-tls', authority.issue('envoy-renewed', envoyNames));
  await shared.waitForCount('coalesce_config_reloads_total{result="applied"}', 1);
  await until('Envoy to read its renewed certificate', async () => (await renewals()) > earlierRenewals, 20_000);
  expect(Math.min(...(await endLoad()))).toBeGreaterThan(0);
  const earlier = shared.calls.length;
  expectWhole(await allDone(await shared.fly([1, 2].map(() => shared.chat('after')))), shared.calls[earlier]);
  const stats = await shared.stack.envoy.stats('ext_proc');
  expect(stats.get('http.ingress.ext_proc.decide.streams_failed')).toBe(0);
  expect(readFileSync(join(folder, 'coalescer-tls', 'tls.crt'))).toEqual(
    readFileSync(certificates.at('server-renewed.pem')),
  );
});
