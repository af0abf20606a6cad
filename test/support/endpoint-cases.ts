/**
 * The endpoint cases in test/data/endpoints as requests: a sample of each endpoint, and what a case adds to it.
 */

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { HeaderList, RequestHead } from '../../src/coalesce/request/head.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';
import { defaultSources, keyOrReason, sampleHead, samplePolicy } from './request-samples.ts';

/** What a case says about a request; absent: as the sample says. */
export interface CaseRequest {
  readonly method?: string;
  readonly path?: string;
  /** Null takes the sample's header away. */
  readonly headers?: Readonly<Record<string, string | null | readonly string[]>>;
  /** Members as JSON text, besides the sample's. */
  readonly also?: string;
  /** Members as JSON text, in place of the sample's. */
  readonly members?: string;
}

interface Sample {
  readonly path: string;
  readonly members: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const folder = new URL('../data/endpoints/', import.meta.url);

/** One of the files, which is trusted to have this shape. */
export function readCases<T>(file: string): T {
  return parse(readFileSync(new URL(file, folder), 'utf8')) as T;
}

export const samples: ReadonlyMap<string, Sample> = new Map(
  Object.entries(readCases<Readonly<Record<string, Sample>>>('samples.yaml')),
);

/** What the corpus runs with: nothing is left out but what sharing itself forbids. */
export function casePolicy(changes: Partial<Policy> = {}): Policy {
  const tenant = { from: [...defaultSources, { kind: 'sigv4' } as const], anonymous: 'share' } as const;
  return samplePolicy({ tenant, tools: 'allow', identity: 'ignore', sampling: 'any', ...changes });
}

/** The key, or the reason for a bypass. */
export function resultOf(sample: string, request: CaseRequest, policy: Policy = casePolicy()): string {
  return keyOrReason(headOf(sample, request), bodyOf(sample, request), policy);
}

/** The head of a sample, with a case's changes. */
export function headOf(sample: string, { method = 'POST', path, headers }: CaseRequest = {}): RequestHead {
  const base = { authorization: 'Bearer sample', 'content-type': 'application/json', ...sampleOf(sample).headers };
  const fields = Object.entries({ ...base, ...headers }).flatMap(([name, values]) =>
    values === null ? [] : [values].flat().map((value): HeaderList[number] => [name, value]),
  );
  return sampleHead({ method, path: path ?? sampleOf(sample).path, headers: fields });
}

/** The body of a sample, with a case's changes. */
function bodyOf(sample: string, { members, also = '' }: CaseRequest = {}): string {
  return `{${[members ?? sampleOf(sample).members, also].filter((text) => text !== '').join(',')}}`;
}

function sampleOf(name: string): Sample {
  const sample = samples.get(name);
  if (sample === undefined) throw new Error(`no sample ${name}`);
  return sample;
}
