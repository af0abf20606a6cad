/** Cohere's embeddings and rankings, version 2. They do not sample. */

import { knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { envelope, noTools, noUsage, rootOrder } from '../shared-rules.ts';

/** The profile `cohere-embed`. */
export const cohereEmbed: Profile = {
  name: 'cohere-embed',
  sources: ['https://docs.cohere.com/v2/reference/embed', 'npm cohere-ai 8.1.0, PyPI cohere 7.3.1'],
  errorShape: 'plain',
  method: 'POST',
  paths: pathPatterns('**/v2/embed'),
  contentType: 'json',
  model: { from: 'body', member: 'model' },
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames(
    'model texts images inputs input_type embedding_types max_tokens output_dimension truncate priority',
  ),
  root: envelope(rootOrder),
  identity: [],
  sideEffects: [],
  tools: noTools,
  sampling: 'none',
  usage: { answer: { in: 'json', prompt: ['meta', 'billed_units', 'input_tokens'], completion: null }, stream: null },
};

/** The profile `cohere-rerank`. It is billed by searches, not by tokens. */
export const cohereRerank: Profile = {
  ...cohereEmbed,
  name: 'cohere-rerank',
  sources: ['https://docs.cohere.com/v2/reference/rerank'],
  paths: pathPatterns('**/v2/rerank'),
  rootNames: knownNames('model query documents top_n max_tokens_per_doc priority rank_fields return_documents'),
  usage: noUsage,
};
