/**
 * What Gemini's endpoints have in common. Their JSON is that of protocol buffers, which reads every name in lowerCamelCase
 * and as snake_case; SDKs write the first, some gateways the second. The two are not unified, but both are understood.
 */

import { pathPatterns, type PathPattern } from '../path-pattern.ts';
import type { Envelope, Profile, ToolList, ToolRules } from '../profile.ts';
import { asObject, envelope, float, leaf } from '../shared-rules.ts';

/** `functionCall.args` and `functionResponse.response` keep their order. */
const part: Envelope = envelope(leaf.why, ['inlineData fileData inline_data file_data', asObject]);

export const content: Envelope = envelope('SDKs differ in whether the role or the parts come first', [
  'parts',
  { items: part },
]);

export const generationConfig: Envelope = envelope(
  leaf.why,
  ['thinkingConfig thinking_config', asObject],
  ['temperature topP top_p topK top_k presencePenalty presence_penalty frequencyPenalty frequency_penalty', float],
);

/** A tool that has any other member searches, runs code or reaches out. */
export function declaredTools(...path: readonly string[]): ToolList {
  return { path, toldBy: 'members', callerRuns: ['functionDeclarations', 'function_declarations'] };
}

export const geminiTools: ToolRules = {
  lists: [declaredTools('tools')],
  choices: [
    { path: ['toolConfig', 'functionCallingConfig', 'mode'], off: 'NONE' },
    { path: ['tool_config', 'function_calling_config', 'mode'], off: 'NONE' },
  ],
};

/** Paths of a verb: in AI Studio's versions, and in Vertex AI below a project and a location. */
export function geminiPaths(verb: string): readonly PathPattern[] {
  const prefixes = ['**/v1', '**/v1beta', '**/publishers/google'];
  return pathPatterns(...prefixes.map((prefix) => `${prefix}/models/{model}:${verb}`));
}

export const geminiSources: readonly string[] = [
  'https://ai.google.dev/api',
  'https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference',
  'npm @google/genai 2.32.0, PyPI google-genai 3.6.1',
];

/** What every Gemini profile says. */
export const gemini: Pick<Profile, 'errorShape' | 'method' | 'contentType' | 'model' | 'identity'> = {
  errorShape: 'gemini',
  method: 'POST',
  contentType: 'json',
  model: { from: 'path' },
  identity: [],
};
