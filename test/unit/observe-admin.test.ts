import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { startAdmin } from '../../src/observe/admin.ts';
import type { Admin, AdminOptions, AdminSources, FlightRow } from '../../src/observe/admin.ts';
import { createMetrics } from '../../src/observe/metrics.ts';

const key = '0123456789abcdef'.repeat(4);
const row: FlightRow = {
  id: 'f1',
  key8: key,
  leg: 'detached',
  phase: 'streaming',
  fleet: 'apart',
  age_ms: 12,
  waiters: 3,
  bytes: 100,
  model: 'a-model',
  policy: 'default',
};
const totals = { flights: 1, waiters: 3, replay_bytes: 100, queue: 0, streams: 4 };

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

interface Ask {
  readonly method?: string;
  readonly body?: string;
}

let admins: Admin[] = [];
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'admin-'));
});

afterEach(async () => {
  await Promise.all(admins.map((admin) => admin.close()));
  admins = [];
  rmSync(folder, { recursive: true });
});

function sources(changes: Partial<AdminSources> = {}): AdminSources {
  const metrics = createMetrics(() => ({
    flights: 1,
    waiters: 3,
    replayBytes: 100,
    queue: 0,
    streams: 4,
    oldestFlightMs: 0,
  }));
  return { flights: () => ({ flights: [row], totals }), ready: () => true, metrics: metrics.page, ...changes };
}

async function start(options: Partial<AdminOptions> = {}): Promise<Admin> {
  const address = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;
  const admin = await startAdmin({ address, pages: 'all', sources: sources(), ...options });
  admins.push(admin);
  return admin;
}

function ask(admin: Admin, path: string, { method = 'GET', body = '' }: Ask = {}): Promise<Answer> {
  const place = admin.address.startsWith('unix:')
    ? { socketPath: admin.address.slice('unix:'.length) }
    : { host: '127.0.0.1', port: Number(admin.address.split(':').at(-1)) };
  return new Promise((resolve, reject) => {
    const call = request({ ...place, path, method, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    call.on('error', reject);
    call.end(body);
  });
}

describe('the admin listener', () => {
  it('shows what is in flight, without a whole key or anything that is not for show', async () => {
    const flights = (): ReturnType<AdminSources['flights']> => {
      return { flights: [Object.assign({ prompt: 'confidential' }, row)], totals };
    };
    const answer = await ask(await start({ sources: sources({ flights }) }), '/flights?x=1');
    expect(answer.headers['content-type']).toBe('application/json');
    expect(JSON.parse(answer.body)).toEqual({ flights: [{ ...row, key8: '01234567' }], totals });
  });

  it('serves the metrics', async () => {
    const answer = await ask(await start(), '/metrics');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toContain('text/plain; version=0.0.4');
    expect(answer.body).toContain('\ncoalesce_waiters 3\n');
  });

  it('is healthy while it answers, and ready until it says why not', async () => {
    let state: true | string = true;
    const admin = await start({ sources: sources({ ready: () => state }) });
    expect(await ask(admin, '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(await ask(admin, '/readyz')).toMatchObject({ status: 200, body: 'ok\n' });
    state = 'draining';
    expect(await ask(admin, '/readyz')).toMatchObject({ status: 503, body: 'draining\n' });
    expect(await ask(admin, '/healthz')).toMatchObject({ status: 200 });
  });

  it('shows the live page at /, under a policy that allows only what is in it', async () => {
    const { headers, body } = await ask(await start(), '/');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = headers['content-security-policy'];
    for (const [tag, directive] of [
      ['script', 'script-src'],
      ['style', 'style-src'],
    ] as const) {
      const [, inner = ''] = new RegExp(`<${tag}>([^]*)</${tag}>`).exec(body) ?? [];
      const digest = createHash('sha256').update(inner).digest('base64');
      expect(policy).toContain(`${directive} 'sha256-${digest}';`);
    }
    expect(policy).toContain("default-src 'none';");
    expect(body).not.toMatch(/\b(?:src|href)="(?:https?:)?\/\/|\bon[a-z]+="|\bstyle="|innerHTML|\beval\b/);
    for (const path of ['flights', 'metrics', 'readyz', 'healthz']) expect(body).toContain(`href="${path}"`);
  });

  it('answers HEAD like GET, without the body', async () => {
    const admin = await start();
    const full = await ask(admin, '/flights');
    const head = await ask(admin, '/flights', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers['content-length']).toBe(full.headers['content-length']);
  });

  it('takes no other method and knows no other path', async () => {
    const admin = await start();
    const posted = await ask(admin, '/flights', { method: 'POST', body: 'x'.repeat(200_000) });
    expect(posted.status).toBe(405);
    expect(posted.headers['allow']).toBe('GET, HEAD');
    expect((await ask(admin, '/flights/')).status).toBe(404);
    expect((await ask(admin, '/constructor')).status).toBe(404);
  });

  it('says so when a page cannot be made, and goes on', async () => {
    const failing = sources({ metrics: () => Promise.reject(new Error('no registry')) });
    const admin = await start({ sources: failing });
    expect(await ask(admin, '/metrics')).toMatchObject({ status: 500, body: 'cannot be shown: no registry\n' });
    expect((await ask(admin, '/healthz')).status).toBe(200);
  });

  it('for probes shows nothing else', async () => {
    const admin = await start({ pages: 'probes' });
    const statuses = await Promise.all(
      ['/healthz', '/readyz', '/metrics', '/', '/flights'].map(async (path) => (await ask(admin, path)).status),
    );
    expect(statuses).toEqual([200, 200, 200, 404, 404]);
  });

  it('refuses a head that is too large or malformed, and goes on', async () => {
    const admin = await start();
    const port = Number(admin.address.split(':').at(-1));
    const send = (text: string): Promise<string> => {
      return new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(text));
        let received = '';
        socket.on('data', (chunk) => (received += chunk.toString()));
        socket.on('close', () => resolve(received));
        socket.on('error', reject);
      });
    };
    expect(await send(`GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(9000)}\r\n\r\n`)).toContain('431');
    expect(await send('nonsense\r\n\r\n')).toContain('400');
    expect((await ask(admin, '/healthz')).status).toBe(200);
  });

  it('closes with a connection that never finishes its request', async () => {
    const admin = await start();
    const socket = connect(Number(admin.address.split(':').at(-1)), '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.write('GET / HTTP/1.1\r\n', () => resolve()));
    admins = [];
    await admin.close();
    await closed;
  });

  it('rejects an address that is taken', async () => {
    const admin = await start();
    const port = Number(admin.address.split(':').at(-1));
    await expect(start({ address: { kind: 'tcp', host: '127.0.0.1', port } })).rejects.toThrow('EADDRINUSE');
  });
});

describe('the admin listener on a Unix socket', () => {
  const at = (path: string): Pick<AdminOptions, 'address'> => ({ address: { kind: 'unix', path } });

  it('works, and takes its socket file along when it closes', async () => {
    const path = join(folder, 'a.sock');
    const admin = await start(at(path));
    expect(admin.address).toBe(`unix:${path}`);
    expect((await ask(admin, '/healthz')).status).toBe(200);
    admins = [];
    await admin.close();
    expect(existsSync(path)).toBe(false);
  });

  it('replaces a socket file that nobody listens on', async () => {
    const path = join(folder, 'a.sock');
    await leaveSocketBehind(path);
    expect((await ask(await start(at(path)), '/healthz')).status).toBe(200);
  });

  it('leaves a socket alone that somebody listens on, and any other file', async () => {
    const path = join(folder, 'a.sock');
    const first = await start(at(path));
    await expect(start(at(path))).rejects.toThrow('EADDRINUSE');
    expect((await ask(first, '/healthz')).status).toBe(200);
    const file = join(folder, 'file');
    writeFileSync(file, 'kept');
    await expect(start(at(file))).rejects.toThrow('EADDRINUSE');
    expect(existsSync(file)).toBe(true);
  });
});

/** A killed process leaves its socket file; a closed one removes it, so the file is made under another name. */
async function leaveSocketBehind(path: string): Promise<void> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.first`, resolve));
  renameSync(`${path}.first`, path);
  await new Promise((resolve) => server.close(resolve));
}
