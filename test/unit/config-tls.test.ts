import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

import { afterAll, describe, expect, it } from 'vitest';

import { renderEffective } from '../../src/config/effective.ts';
import { readConfig, type ConfigResult } from '../../src/config/read.ts';
import { reconfigured } from '../../src/config/reloading/reconfigured.ts';
import type { Config } from '../../src/config/definition.ts';
import { bundle, CertificateFolder } from '../support/certificates.ts';

const folder = new CertificateFolder();
afterAll(() => folder.remove());
const authority = folder.authority('authority');
const server = authority.issue('server', { names: 'DNS:coalescer' });
const other = authority.issue('other');

function text(tls: Record<string, string>): string {
  return JSON.stringify({ mode: 'off', tls }, null, 1);
}

const good = { cert: server.cert, key: server.key, client_ca: authority.cert };

function read(tls: Record<string, string>): ConfigResult {
  return readConfig(text(tls), { file: 'c.yaml', readFile: readFileSync });
}

function config(tls: Record<string, string>): Config {
  const result = read(tls);
  if (result.kind === 'mistakes') throw new Error(JSON.stringify(result.mistakes));
  return result.config;
}

function mistakes(tls: Record<string, string>): string[] {
  const result = read(tls);
  return result.kind === 'config'
    ? []
    : result.mistakes.map(({ line, path, message }) => `${line} ${path}: ${message}`);
}

function file(name: string, content: string): string {
  writeFileSync(folder.at(name), content);
  return folder.at(name);
}

describe('tls', () => {
  it('holds what its files hold', () => {
    const { tls } = config(good);
    expect(tls?.certificate).toEqual(readFileSync(server.cert));
    expect(tls?.clientCa).toEqual(readFileSync(authority.cert));
  });

  it('takes a chain behind the certificate, and several authorities', () => {
    const second = folder.authority('second');
    const cert = file('chain.pem', bundle(server.cert, authority.cert));
    const clientCa = file('authorities.pem', `# ours\n${bundle(authority.cert, second.cert)}`);
    expect(mistakes({ ...good, cert, client_ca: clientCa })).toEqual([]);
  });

  it('is printed as paths, without what stands in them', () => {
    const printed = renderEffective(config(good));
    expect(printed).toContain(`tls:\n  cert: ${server.cert}\n  key: ${server.key}\n  client_ca: ${authority.cert}\n`);
    expect(printed).not.toContain('PRIVATE');
  });

  it.each([
    ['cert', 4],
    ['key', 5],
    ['client_ca', 6],
  ] as const)('with a %s that cannot be read is a mistake of its line', (key, line) => {
    const path = folder.at('none.pem');
    expect(mistakes({ ...good, [key]: path })).toEqual([
      expect.stringMatching(new RegExp(`^${line} tls\\.${key}: cannot be read: ENOENT`)),
    ]);
  });

  it('wants all three', () => {
    expect(mistakes({ cert: server.cert, key: server.key })).toEqual([
      expect.stringContaining('tls.client_ca: missing, expected a text that is not empty'),
    ]);
  });

  it('with a key of another certificate is a mistake', () => {
    expect(mistakes({ ...good, key: other.key })).toEqual([
      '5 tls.key: does not belong to the certificate of tls.cert',
    ]);
  });

  it('with files that hold something else is a mistake each, at once', () => {
    const junk = file('junk.pem', 'junk');
    expect(mistakes({ cert: server.key, key: junk, client_ca: junk })).toEqual([
      expect.stringContaining('4 tls.cert: holds no certificate'),
      '5 tls.key: holds no private key, expected PEM',
      expect.stringContaining('6 tls.client_ca: holds no certificate'),
    ]);
  });

  it('with a certificate that is only framed like one is a mistake', () => {
    const framed = file('framed.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    expect(mistakes({ ...good, cert: framed, client_ca: framed })).toEqual([
      '4 tls.cert: holds a certificate that cannot be parsed',
      '6 tls.client_ca: holds a certificate that cannot be parsed',
    ]);
  });

  it('with an expired certificate is a mistake', () => {
    const expired = authority.issue('expired', { days: -1 });
    expect(mistakes({ ...good, ...expired })).toEqual([expect.stringMatching(/^4 tls\.cert: expired on \d{4}-/)]);
  });

  it('with an encrypted key is a mistake', () => {
    const key = folder.at('encrypted.key');
    execFileSync('openssl', ['pkcs8', '-topk8', '-in', server.key, '-out', key, '-passout', 'pass:secret']);
    expect(mistakes({ ...good, key })).toEqual(['5 tls.key: is encrypted, expected a private key without passphrase']);
  });

  it('never repeats a key in a mistake', () => {
    const shown = JSON.stringify([read({ ...good, cert: server.key }), read({ ...good, client_ca: server.key })]);
    const secretLines = readFileSync(server.key, 'utf8').split('\n').slice(1, -2);
    expect(secretLines.length).toBeGreaterThan(1);
    for (const line of secretLines) expect(shown).not.toContain(line);
  });
});

describe('at a reload', () => {
  it('other certificates are taken', () => {
    const next = config({ ...good, ...other });
    expect(reconfigured(config(good), next)).toEqual({ config: next, kept: [] });
  });

  it('a port stays plain, or TLS, until the next start', () => {
    const [secured, plain] = [config(good), { ...config(good), tls: null }];
    expect(reconfigured(secured, plain)).toMatchObject({ config: { tls: secured.tls }, kept: ['tls'] });
    expect(reconfigured(plain, secured)).toMatchObject({ config: { tls: null }, kept: ['tls'] });
  });
});
