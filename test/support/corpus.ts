/** The key corpus in test/data/corpus: pairs of requests, by topic, that must or must not have one key. */
import { readdirSync, readFileSync } from 'node:fs';

export interface CorpusRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly body_base64?: string;
  /** The `sub` of a verified token. */
  readonly tenant?: string;
}

export interface CorpusCase {
  readonly name: string;
  readonly expect: 'same' | 'different' | 'reject';
  readonly hard: boolean;
  readonly why: string;
  readonly config?: { readonly nondeterministic?: 'bypass' | 'allow' };
  readonly a: CorpusRequest;
  readonly b: CorpusRequest;
}

const folder = new URL('../data/corpus/', import.meta.url);

/** A file of the corpus, by its path there. */
export function readCorpus<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(path, folder), 'utf8')) as T;
}

/** The names of the files in a folder of the corpus. */
export function corpusFiles(path: string): string[] {
  return readdirSync(new URL(path, folder)).toSorted();
}

export function bodyOf({ body, body_base64 }: CorpusRequest): Buffer {
  return body === undefined ? Buffer.from(body_base64 ?? '', 'base64') : Buffer.from(body);
}

/** So many cases, from all topics alike and from all over each, always the same ones. */
export function corpusSample(count: number): CorpusCase[] {
  const topics = corpusFiles('keys/').map((file) => readCorpus<readonly CorpusCase[]>(`keys/${file}`));
  const quotas = topics.map(() => 0);
  for (let turn = 0, left = count; left > 0 && turn < count * topics.length; turn += 1) {
    const index = turn % topics.length;
    const quota = quotas[index] ?? 0;
    if (quota === topics[index]?.length) continue;
    quotas[index] = quota + 1;
    left -= 1;
  }
  return topics.flatMap((cases, index) => {
    const quota = quotas[index] ?? 0;
    return cases.filter(
      (_, at) => Math.floor((at * quota) / cases.length) !== Math.floor(((at - 1) * quota) / cases.length),
    );
  });
}
