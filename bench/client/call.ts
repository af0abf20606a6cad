/**
 * One HTTP call of the bench's client, recorded as cheaply as can be: when it began, when its body came and whether it came
 * whole. What calls are made is left to workloads.ts.
 */
import type { Dispatcher } from 'undici';
import { chat } from '../../harness/http-client.ts';

/** A call as it went. Times are of `performance.now()`, in milliseconds. */
export type Call = {
  readonly startedAtMs: number;
  /** Of each read that brought bytes of the body. */
  readonly readsAtMs: readonly number[];
  readonly endedAtMs: number;
  /** It was answered 200 and to its end. */
  readonly isWhole: boolean;
};

export type Prompt = {
  readonly text: string;
  readonly isStream: boolean;
  readonly tokens: number;
  readonly gapMs: number;
  readonly isOptedOut?: boolean;
};

const STREAM_END = 'data: [DONE]\n\n';

/** A call under way; never rejects. `onFirstByte` is told when the answer begins, or that it never will. */
export function call(dispatcher: Dispatcher, prompt: Prompt, onFirstByte?: () => void): Promise<Call> {
  return new Promise((resolve) => {
    const startedAtMs = performance.now();
    const readsAtMs: number[] = [];
    let isOk = false;
    let tail = '';
    const finish = (isWhole: boolean): void => {
      onFirstByte?.();
      resolve({ startedAtMs, readsAtMs, endedAtMs: performance.now(), isWhole });
    };
    dispatcher.dispatch(requestFor(prompt), {
      // By this one undici knows that the others are of its present interface.
      onRequestStart: () => undefined,
      onResponseStart: (_controller, status) => void (isOk = status === 200),
      onResponseData: (_controller, bytes) => {
        readsAtMs.push(performance.now());
        if (readsAtMs.length === 1) onFirstByte?.();
        if (prompt.isStream) tail = (tail + bytes.toString('latin1', bytes.length - 16)).slice(-STREAM_END.length);
      },
      onResponseEnd: () => finish(isOk && (!prompt.isStream || tail === STREAM_END)),
      onResponseError: () => finish(false),
    });
  });
}

function requestFor({ text, isStream, tokens, gapMs, isOptedOut }: Prompt): Dispatcher.DispatchOptions {
  const { path, headers, body } = chat(text, {
    body: { stream: isStream },
    headers: {
      'x-mock-tokens': String(tokens),
      'x-mock-gap-ms': String(gapMs),
      ...(isOptedOut && { 'x-coalesce': 'never' }),
    },
  });
  return { method: 'POST', path: path ?? '/', headers, body };
}
