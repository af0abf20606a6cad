/** Ollama's embeddings, on the present path and on the older one. They do not sample. */

import { knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { envelope, noTools, rootOrder } from '../shared-rules.ts';
import { ollama, withOptions } from './members.ts';

/** The profile `ollama-embed`. */
export const ollamaEmbed: Profile = {
  ...ollama,
  name: 'ollama-embed',
  paths: pathPatterns('**/api/embed', '**/api/embeddings'),
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames('model input prompt truncate dimensions keep_alive options'),
  root: envelope(rootOrder, withOptions),
  tools: noTools,
  sampling: 'none',
  usage: { answer: { in: 'json', prompt: ['prompt_eval_count'], completion: null }, stream: null },
};
