/** What Ollama's own endpoints have in common: the sampling options, and a server that reads JSON whatever the header says. */

import type { Envelope, MemberRule, Profile, Sampling, Usage } from '../profile.ts';
import { envelope, float, leaf } from '../shared-rules.ts';

const ollamaSources: readonly string[] = [
  'https://github.com/ollama/ollama api/types.go, server/routes.go, docs/api.md',
  'npm ollama, PyPI ollama',
];

const options: Envelope = envelope(leaf.why, [
  'temperature top_p min_p typical_p repeat_penalty presence_penalty frequency_penalty tfs_z mirostat_tau mirostat_eta',
  float,
]);

export const withOptions: readonly [names: string, rule: MemberRule] = ['options', { object: options }];

/** The default is a temperature of 0.8 with a random seed. */
export const ollamaSampling: Sampling = {
  temperatures: [['options', 'temperature']],
  seeds: [{ path: ['options', 'seed'], random: ['-1'] }],
  overrides: [],
};

const tokens = { in: 'json', prompt: ['prompt_eval_count'], completion: ['eval_count'] } as const;

/** In a stream the last line has it. */
export const ollamaUsage: Usage = { answer: tokens, stream: tokens };

export const ollama: Pick<
  Profile,
  'sources' | 'errorShape' | 'method' | 'contentType' | 'model' | 'stream' | 'identity' | 'sideEffects'
> = {
  sources: ollamaSources,
  errorShape: 'plain',
  method: 'POST',
  contentType: 'any',
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: true },
  identity: [],
  sideEffects: [],
};
