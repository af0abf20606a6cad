/**
 * A headless Chromium with one page, driven over the DevTools protocol: opened, asked, photographed, ended. Its binary is
 * CHROMIUM_BIN or the system's; .ci/chromium installs it on Debian.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { WebSocket } from 'undici';
import { startChild, waitUntil, type Child } from './stack/child.ts';

export type Screen = { readonly width: number; readonly height: number; readonly scheme: 'light' | 'dark' };

export type BrowserPage = {
  /** Opens an address, as a screen of this kind would show it; resolves when it has loaded. */
  open(url: string, screen: Screen): Promise<void>;
  /** Shows the page that is open as another kind of screen would. */
  resize(screen: Screen): Promise<void>;
  /** The value of an expression, which has to be JSON; a promise is awaited. Rejects with what it throws. */
  evaluate(expression: string): Promise<unknown>;
  /** What the page has complained about: exceptions, errors on the console, violations of its policy. */
  complaints(): readonly string[];
  /** The addresses that it has asked for. */
  requests(): readonly string[];
  /** The whole page as PNG. */
  screenshot(path: string): Promise<void>;
  close(): Promise<void>;
};

const candidates = [
  process.env['CHROMIUM_BIN'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Where the browser is; undefined where there is none. */
export function findChromium(): string | undefined {
  return candidates.find((path) => path !== undefined && path !== '' && existsSync(path));
}

/** Starts a browser with a profile of its own. */
export async function startChromium(): Promise<BrowserPage> {
  const command = findChromium();
  if (command === undefined) throw new Error('Chromium is missing: run .ci/chromium, or set CHROMIUM_BIN.');
  const folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-chromium-'));
  const profile = join(folder, 'profile');
  await mkdir(profile);
  const child = await startChild({
    name: 'Chromium',
    command,
    args: argumentsFor(profile),
    logBase: join(folder, 'chromium'),
  });
  const end = async (): Promise<void> => {
    await child.end();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return pageOf(await connect(child, profile), end);
  } catch (error) {
    await end();
    throw error;
  }
}

function argumentsFor(profile: string): string[] {
  return [
    ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--hide-scrollbars'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
    ...['--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'],
  ];
}

type Connection = {
  readonly send: (method: string, params?: object) => Promise<Record<string, unknown>>;
  readonly events: Array<{ readonly method: string; readonly params: Record<string, unknown> }>;
  readonly close: () => void;
};

async function connect(child: Child, profile: string): Promise<Connection> {
  const port = await waitUntil(child, {
    what: 'DevTools port',
    timeoutMs: 30_000,
    look: async () =>
      (await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n')[0] || undefined,
  });
  const url = await waitUntil(child, { what: 'first page', timeoutMs: 10_000, look: () => pageSocket(port) });
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error('Chromium refused the DevTools connection')));
  });
  const connection = speak(socket);
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await connection.send(`${domain}.enable`);
  return connection;
}

type Target = { readonly type: string; readonly webSocketDebuggerUrl: string };

async function pageSocket(port: string): Promise<string | undefined> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as Target[];
  return targets.find(({ type }) => type === 'page')?.webSocketDebuggerUrl;
}

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
};

function speak(socket: WebSocket): Connection {
  const waiting = new Map<number, (message: Message) => void>();
  const events: Connection['events'] = [];
  let last = 0;
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id === undefined) events.push({ method: message.method ?? '', params: message.params ?? {} });
    else waiting.get(message.id)?.(message);
  });
  return {
    events,
    close: () => socket.close(),
    send: (method, params = {}) => {
      last += 1;
      const id = last;
      socket.send(JSON.stringify({ id, method, params }));
      return new Promise((resolve, reject) => {
        waiting.set(id, ({ result = {}, error }) => {
          waiting.delete(id);
          if (error === undefined) resolve(result);
          else reject(new Error(`${method}: ${error.message}`));
        });
      });
    },
  };
}

const loaded = `new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))`;

function pageOf(connection: Connection, end: () => Promise<void>): BrowserPage {
  const { send, events } = connection;
  const evaluate = async (expression: string): Promise<unknown> => {
    const answer = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (answer['exceptionDetails'] !== undefined) throw new Error(JSON.stringify(answer['exceptionDetails']));
    return (answer['result'] as { value?: unknown }).value;
  };
  const resize = async ({ width, height, scheme }: Screen): Promise<void> => {
    await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  };
  return {
    evaluate,
    resize,
    open: async (url, screen) => {
      await resize(screen);
      await send('Page.navigate', { url });
      await evaluate(loaded);
    },
    complaints: () => events.flatMap(complaintOf),
    requests: () =>
      events
        .filter(({ method }) => method === 'Network.requestWillBeSent')
        .map(({ params }) => (params['request'] as { url: string }).url),
    screenshot: async (path) => {
      const answer = await send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true });
      await writeFile(path, Buffer.from(String(answer['data']), 'base64'));
    },
    close: async () => {
      connection.close();
      await end();
    },
  };
}

function complaintOf({ method, params }: Connection['events'][number]): string[] {
  if (method === 'Runtime.exceptionThrown') return [JSON.stringify(params['exceptionDetails'])];
  if (method === 'Runtime.consoleAPICalled' && params['type'] === 'error') return [JSON.stringify(params['args'])];
  if (method !== 'Log.entryAdded') return [];
  const { level, text } = params['entry'] as { level: string; text: string };
  return level === 'error' ? [text] : [];
}
