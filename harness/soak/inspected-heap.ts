/**
 * The live heap of a Node process, by its inspector: what is left after garbage was collected. The process has to have been
 * started with `--inspect-port`; the inspector listens from SIGUSR1 on.
 */
import process from 'node:process';
import { WebSocket } from 'undici';

export type InspectedHeap = {
  /** Collects garbage; then the bytes that live objects take. */
  readonly liveBytes: () => Promise<number>;
  readonly close: () => void;
};

/** Wakes the inspector of a process and connects to it; throws where it does not come up within 10 s. */
export async function inspectHeap(pid: number, port: number): Promise<InspectedHeap> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await debuggerUrl(port));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`the inspector at port ${port} cannot be reached`)));
  });
  const answers = new Map<number, (answer: InspectorAnswer) => void>();
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as InspectorAnswer;
    answers.get(answer.id ?? 0)?.(answer);
    answers.delete(answer.id ?? 0);
  });
  let lastId = 0;
  const ask = async (method: string): Promise<Readonly<Record<string, unknown>>> => {
    lastId += 1;
    const id = lastId;
    const answered = new Promise<InspectorAnswer>((resolve) => answers.set(id, resolve));
    socket.send(JSON.stringify({ id, method }));
    const { result, error } = await answered;
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  return {
    liveBytes: async () => {
      // Finalizers of one collection free what the next one finds.
      for (let time = 0; time < 3; time += 1) await ask('HeapProfiler.collectGarbage');
      return Number((await ask('Runtime.getHeapUsage'))['usedSize']);
    },
    close: () => socket.close(),
  };
}

type InspectorAnswer = {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
};

async function debuggerUrl(port: number): Promise<string> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    try {
      const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
        webSocketDebuggerUrl: string;
      }[];
      if (target !== undefined) return target.webSocketDebuggerUrl;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
