/** Gemini's embeddings, of one content or of many. They do not sample. */

import { knownNames } from '../known-names.ts';
import type { Profile } from '../profile.ts';
import { envelope, noTools, noUsage, rootOrder } from '../shared-rules.ts';
import { gemini, geminiPaths, geminiSources } from './members.ts';

/** The profile `gemini-embed`. */
export const geminiEmbed: Profile = {
  ...gemini,
  name: 'gemini-embed',
  sources: geminiSources,
  paths: geminiPaths('embedContent'),
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames(
    'model content taskType task_type title outputDimensionality output_dimensionality autoTruncate auto_truncate',
    'embedContentConfig embed_content_config',
  ),
  root: envelope(rootOrder),
  sideEffects: [],
  tools: noTools,
  sampling: 'none',
  usage: noUsage,
};

/** The profile `gemini-batch-embed`: many at once, answered at once, unlike the batches that are jobs. */
export const geminiBatchEmbed: Profile = {
  ...geminiEmbed,
  name: 'gemini-batch-embed',
  paths: geminiPaths('batchEmbedContents'),
  rootNames: knownNames('model requests'),
};
