/**
 * A CPU profile of the processor (`node --cpu-prof dist/main.js serve`) by part: whose code ran while it was busy. Native code
 * without a place of its own counts for whoever called it.
 */

type Node = {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
};

/** What V8 writes, as far as it is read here. Times are in µs. */
export type CpuProfile = {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** In the order in which they are looked for. */
const parts: ReadonlyArray<readonly [part: string, place: RegExp]> = [
  ['errors for streams that Envoy resets', /^node:internal\/errors/],
  ['grpc-js', /@grpc\/grpc-js/],
  ['undici and its parser', /undici|^wasm:/],
  ['log', /node_modules\/(?:pino|sonic-boom|fast-|safe-|thread-stream)|observe\/log|^node:fs/],
  ['metrics', /prom-client|observe\/metrics|server\/facts/],
  ['our codec', /dist\/extproc\/wire|google-protobuf/],
  ['key and eligibility', /dist\/coalesce\/(?:key|profiles|request)|^node:(?:internal\/)?crypto/],
  ['flight table and exchange machine', /dist\/(?:coalesce|extproc)\//],
  ['pump and switchboard', /dist\/(?:server|upstream)\//],
  ['HTTP/2, streams and sockets of Node', /^node:/],
];

/** Percent of the busy time from `fromMs` on (the start of the process is none of the load's), the largest part first. */
export function partsOf(profile: CpuProfile, fromMs: number): ReadonlyArray<readonly [part: string, percent: number]> {
  const times = timesOf(profile, fromMs);
  const byPart = new Map<string, number>();
  let busy = 0;
  walk(profile, (node, part) => {
    const time = times.get(node.id) ?? 0;
    if (node.callFrame.functionName === '(idle)') return;
    busy += time;
    byPart.set(part, (byPart.get(part) ?? 0) + time);
  });
  const shares = [...byPart].map(([part, time]) => [part, (100 * time) / busy] as const);
  return shares.filter(([, percent]) => percent >= 0.05).toSorted((one, other) => other[1] - one[1]);
}

function timesOf({ samples, timeDeltas }: CpuProfile, fromMs: number): ReadonlyMap<number, number> {
  const times = new Map<number, number>();
  let elapsed = 0;
  for (const [index, id] of samples.entries()) {
    elapsed += timeDeltas[index] ?? 0;
    if (elapsed >= fromMs * 1000) times.set(id, (times.get(id) ?? 0) + (timeDeltas[index + 1] ?? 0));
  }
  return times;
}

/** From the root down; a node without a place of its own has its caller's part. */
function walk({ nodes }: CpuProfile, visit: (node: Node, part: string) => void): void {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const open: Array<readonly [Node, string]> = nodes.slice(0, 1).map((root) => [root, 'other']);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [node, above] = next;
    const part = partOf(node, above);
    visit(node, part);
    for (const id of node.children ?? []) {
      const child = byId.get(id);
      if (child !== undefined) open.push([child, part]);
    }
  }
}

function partOf({ callFrame: { functionName, url } }: Node, above: string): string {
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(program)') return 'native code without a caller';
  if (url === '') return above;
  return parts.find(([, place]) => place.test(url))?.[0] ?? 'other';
}
