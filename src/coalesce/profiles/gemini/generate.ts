/** Gemini's generateContent and streamGenerateContent: one body, and the verb says whether the answer is streamed. */

import { knownNames } from '../known-names.ts';
import type { Profile, SideEffect, TokenPlaces } from '../profile.ts';
import { envelope, rootOrder } from '../shared-rules.ts';
import { content, gemini, geminiPaths, geminiSources, geminiTools, generationConfig } from './members.ts';

const continued = 'goes on with a generation that the server holds';
const delivered = 'writes the answer to a place of the caller';

const sideEffects: readonly SideEffect[] = [
  { kind: 'value', path: ['store'], harmless: ['absent', 'null', 'false'], why: 'keeps the call in a log' },
  { kind: 'value', path: ['continuationToken'], harmless: ['absent', 'null'], why: continued },
  { kind: 'value', path: ['continuation_token'], harmless: ['absent', 'null'], why: continued },
  { kind: 'value', path: ['generationOutputConfig'], harmless: ['absent', 'null'], why: delivered },
  { kind: 'value', path: ['generation_output_config'], harmless: ['absent', 'null'], why: delivered },
];

const tokens: TokenPlaces = {
  in: 'json',
  prompt: ['usageMetadata', 'promptTokenCount'],
  completion: ['usageMetadata', 'candidatesTokenCount'],
};

/** The profile `gemini-generate`. */
export const geminiGenerate: Profile = {
  ...gemini,
  name: 'gemini-generate',
  sources: geminiSources,
  paths: geminiPaths('generateContent'),
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames(
    'model contents systemInstruction system_instruction tools toolConfig tool_config safetySettings safety_settings',
    'generationConfig generation_config cachedContent cached_content serviceTier service_tier labels modelArmorConfig',
    'model_armor_config store continuationToken continuation_token generationOutputConfig generation_output_config',
  ),
  root: envelope(
    rootOrder,
    ['contents', { items: content }],
    ['systemInstruction system_instruction', { object: content }],
    ['generationConfig generation_config', { object: generationConfig }],
  ),
  sideEffects,
  tools: geminiTools,
  sampling: {
    temperatures: [
      ['generationConfig', 'temperature'],
      ['generation_config', 'temperature'],
    ],
    seeds: [
      { path: ['generationConfig', 'seed'], random: [] },
      { path: ['generation_config', 'seed'], random: [] },
    ],
    overrides: [],
  },
  usage: { answer: tokens, stream: null },
};

/** The profile `gemini-stream`. The answer is events with `alt=sse`, and one JSON array without. */
export const geminiStream: Profile = {
  ...geminiGenerate,
  name: 'gemini-stream',
  paths: geminiPaths('streamGenerateContent'),
  stream: { from: 'endpoint', streams: true },
  usage: { answer: null, stream: tokens },
};
