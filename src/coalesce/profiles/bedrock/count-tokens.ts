/** Bedrock's count of tokens: the body of a Converse call, or that of an InvokeModel call as base64, in one member. */

import { knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { envelope, noUsage, rootOrder } from '../shared-rules.ts';
import { toolSpecs } from './converse.ts';
import { bedrock } from './members.ts';

/** The profile `bedrock-count-tokens`. */
export const bedrockCountTokens: Profile = {
  ...bedrock,
  name: 'bedrock-count-tokens',
  paths: pathPatterns('**/model/{model}/count-tokens'),
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames('input'),
  root: envelope(rootOrder),
  identity: [],
  sideEffects: [],
  tools: { lists: [toolSpecs('input', 'converse', 'toolConfig', 'tools')], choices: [] },
  sampling: 'none',
  usage: noUsage,
};
