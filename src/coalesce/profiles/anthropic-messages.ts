/**
 * Anthropic's messages. Batches and token counts are other endpoints.
 */

import type { Envelope, MemberRule, Profile } from './profile.ts';

const typed = 'a typed object: servers read its members by name';
const sampled = 'a float to every server; SDKs write 0 and 0.0 for the same thing';

const leaf: Envelope = { why: typed, members: new Map() };

/** A tool's input and result keep their order: they are rendered into the prompt as they stand. */
const block: Envelope = {
  why: typed,
  members: new Map<string, MemberRule>([
    ['source', { object: leaf }],
    ['cache_control', { object: leaf }],
  ]),
};

const message: Envelope = {
  why: 'SDKs differ in whether the role or the content comes first',
  members: new Map<string, MemberRule>([['content', { items: block }]]),
};

const root: Envelope = {
  why: 'SDKs write root members in different orders',
  members: new Map<string, MemberRule>([
    ['messages', { items: message }],
    ['system', { items: block }],
    ['thinking', { object: leaf }],
    ['cache_control', { object: leaf }],
    ['temperature', { float: sampled }],
    ['top_p', { float: sampled }],
  ]),
};

const rootNames: ReadonlySet<string> = new Set(
  [
    'model max_tokens messages system stop_sequences tools tool_choice output_config output_format thinking stream',
    'cache_control inference_geo speed service_tier diagnostics context_management compaction fallbacks billing_policy',
    'temperature top_p top_k metadata mcp_servers container thread fallback_credit_token',
  ].flatMap((line) => line.split(' ')),
);

/** The profile `anthropic-messages`. */
export const anthropicMessages: Profile = {
  name: 'anthropic-messages',
  errorShape: 'anthropic',
  method: 'POST',
  path: /\/v1\/messages$/,
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames,
  root,
  identity: [{ member: 'metadata', why: 'its only member is user_id, which the answer does not echo' }],
  sideEffects: [
    { member: 'mcp_servers', harmless: ['null'], why: 'calls servers of third parties' },
    { member: 'container', harmless: ['null'], why: 'runs in a container that outlives the call' },
    { member: 'thread', harmless: ['null'], why: 'continues a conversation that the server holds' },
    { member: 'fallback_credit_token', harmless: ['null'], why: 'can be spent once' },
  ],
  tools: {
    // Every other type is run by the server, or acts on the caller's machine.
    lists: [{ member: 'tools', callerRuns: ['custom'], typeless: 'caller_runs' }],
    choice: ['tool_choice', 'type'],
  },
  sampling: {
    temperature: ['temperature'],
    seeds: [],
    overrides: [{ member: 'thinking', off: 'disabled', why: 'thinking samples at temperature 1' }],
  },
};
