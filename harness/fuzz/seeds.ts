/** What the fuzzer starts from: the requests of the key corpus and the samples of every endpoint, in test/data. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { HeaderList } from '../../src/coalesce/request/head.ts';
import { repositoryRoot } from '../root.ts';

export interface Seed {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

interface Recorded {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly body_base64?: string;
}

interface Sample {
  readonly path: string;
  readonly members: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const data = join(repositoryRoot, 'test', 'data');

export function readSeeds(): Seed[] {
  return [...captures(), ...pairs(), ...samples()];
}

function captures(): Seed[] {
  const folder = join(data, 'corpus', 'captured');
  return readdirSync(folder).map((file) => toSeed(read<Recorded>(join(folder, file))));
}

function pairs(): Seed[] {
  const folder = join(data, 'corpus', 'keys');
  const cases = readdirSync(folder).flatMap((file) =>
    read<readonly { name: string; a: Recorded; b: Recorded }[]>(join(folder, file)),
  );
  return cases.flatMap(({ name, a, b }) => [toSeed({ ...a, name }), toSeed({ ...b, name })]);
}

function samples(): Seed[] {
  const parsed = parse(readFileSync(join(data, 'endpoints', 'samples.yaml'), 'utf8')) as Record<string, Sample>;
  return Object.entries(parsed).map(([name, { path, members, headers = {} }]) =>
    toSeed({
      name,
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', authorization: 'Bearer a', ...headers },
      body: `{${members}}`,
    }),
  );
}

function toSeed({ name, method, path, headers, body, body_base64 }: Recorded): Seed {
  const fields = Object.entries(headers).flatMap(([field, values]) =>
    [values].flat().map((value): HeaderList[number] => [field, value]),
  );
  const bytes = body === undefined ? Buffer.from(body_base64 ?? '', 'base64') : Buffer.from(body);
  return { name, method, path, headers: fields, body: bytes };
}

function read<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}
