/** Ollama's chat and generate, which stream lines of JSON unless told not to. */

import { knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Envelope, Profile } from '../profile.ts';
import { envelope, noTools, rootOrder } from '../shared-rules.ts';
import { ollama, ollamaSampling, ollamaUsage, withOptions } from './members.ts';

/** The arguments of a tool call are an object here, and keep their order. */
const message: Envelope = envelope('SDKs differ in whether the role or the content comes first');

/** The profile `ollama-chat`. */
export const ollamaChat: Profile = {
  ...ollama,
  name: 'ollama-chat',
  paths: pathPatterns('**/api/chat'),
  rootNames: knownNames(
    'model messages stream format keep_alive tools options think truncate shift logprobs top_logprobs',
    '_debug_render_only',
  ),
  root: envelope(rootOrder, ['messages', { items: message }], withOptions),
  tools: {
    lists: [{ path: ['tools'], toldBy: 'type', callerRuns: ['function'], typeless: 'unknown' }],
    choices: [],
  },
  sampling: ollamaSampling,
  usage: ollamaUsage,
};

/** The profile `ollama-generate`. */
export const ollamaGenerate: Profile = {
  ...ollama,
  name: 'ollama-generate',
  paths: pathPatterns('**/api/generate'),
  rootNames: knownNames(
    'model prompt suffix system template context stream raw format keep_alive images options think truncate shift',
    'logprobs top_logprobs width height steps _debug_render_only',
  ),
  root: envelope(rootOrder, withOptions),
  tools: noTools,
  sampling: ollamaSampling,
  usage: ollamaUsage,
};
