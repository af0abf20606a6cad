/** Gemini's count of tokens, of contents or of a whole generation. Nothing runs, but its tools are judged alike. */

import { knownNames } from '../known-names.ts';
import type { Profile } from '../profile.ts';
import { envelope, noUsage, rootOrder } from '../shared-rules.ts';
import {
  content,
  declaredTools,
  gemini,
  geminiPaths,
  geminiSources,
  geminiTools,
  generationConfig,
} from './members.ts';

/** The profile `gemini-count-tokens`. */
export const geminiCountTokens: Profile = {
  ...gemini,
  name: 'gemini-count-tokens',
  sources: geminiSources,
  paths: geminiPaths('countTokens'),
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames(
    'model contents generateContentRequest generate_content_request instances systemInstruction system_instruction',
    'tools generationConfig generation_config',
  ),
  root: envelope(
    rootOrder,
    ['contents', { items: content }],
    ['systemInstruction system_instruction', { object: content }],
    ['generationConfig generation_config', { object: generationConfig }],
  ),
  sideEffects: [],
  tools: {
    lists: [
      ...geminiTools.lists,
      declaredTools('generateContentRequest', 'tools'),
      declaredTools('generate_content_request', 'tools'),
    ],
    choices: [],
  },
  sampling: 'none',
  usage: noUsage,
};
