/** A collector that takes OTLP over HTTP as JSON, over a real socket, and can be told to misbehave. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';

/** One span as it arrived. */
export interface SeenSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly events: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: an error. */
  readonly status: { readonly code?: number; readonly message?: string };
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly service: unknown;
}

/** `take`; `refuse`: answers 500; `hang`: reads and never answers. */
export type Conduct = 'take' | 'refuse' | 'hang';

export class Collector {
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => this.#took(Buffer.concat(chunks).toString(), request.headers, response));
  });
  conduct: Conduct = 'take';
  /** Bodies of requests, whatever came of them. */
  readonly bodies: string[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  spans: SeenSpan[] = [];

  static async start(): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  /** Waits until every one of these has come. */
  async waitFor(...wanted: ((span: SeenSpan) => boolean)[]): Promise<SeenSpan[]> {
    return vi.waitFor(
      () =>
        wanted.map((isIt) => {
          const found = this.spans.find(isIt);
          if (found === undefined) throw new Error(`of ${wanted.length} spans one is missing: ${this.#told()}`);
          return found;
        }),
      { timeout: 20_000, interval: 50 },
    );
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #told(): string {
    return JSON.stringify(this.spans.map(({ name, attributes }) => [name, attributes['coalesce.flight']]));
  }

  #took(body: string, headers: IncomingHttpHeaders, response: ServerResponse): void {
    this.bodies.push(body);
    this.headers.push(headers);
    if (this.conduct === 'hang') return;
    if (this.conduct === 'take') this.spans.push(...spansOf(body));
    response.writeHead(this.conduct === 'take' ? 200 : 500, { 'content-type': 'application/json' }).end('{}');
  }
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

interface WireSpan extends Pick<SeenSpan, 'name' | 'kind' | 'traceId' | 'spanId' | 'status'> {
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly events: readonly { readonly name: string }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

function spansOf(body: string): SeenSpan[] {
  const { resourceSpans } = JSON.parse(body) as Export;
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = plain(resource.attributes)['service.name'];
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => seen(span, service)));
  });
}

function seen(span: WireSpan, service: unknown): SeenSpan {
  const { name, kind, traceId, spanId, status, parentSpanId = '', traceState = '' } = span;
  return {
    ...{ name, kind, traceId, spanId, status, parentSpanId, traceState, service },
    links: span.links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    events: span.events.map((event) => event.name),
    attributes: plain(span.attributes),
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
  };
}

/** `{stringValue: 'x'}` is `x`. */
function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
