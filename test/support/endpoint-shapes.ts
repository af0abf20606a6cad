/**
 * A full body of each endpoint, and what is noise in it: written down here once more, apart from the profiles, so that a
 * mistake there shows. Paths have `*` for an index.
 */

export interface EndpointShape {
  /** In test/data/endpoints/samples.yaml; its members are not used. */
  readonly sample: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Objects whose members may stand in any order. The root is one of them everywhere. */
  readonly envelopes: readonly string[];
  /** Numbers that are compared by value. */
  readonly floats: readonly string[];
  /** Objects whose members may not. */
  readonly ordered: readonly string[];
  /** Root members that do not count where identity is ignored. */
  readonly identity: readonly string[];
}

const schema = { type: 'object', properties: { b: { type: 'string' }, a: { type: 'integer', maximum: 5 } } };
const textPart = { type: 'text', text: 'é / "q"\n', cache_control: { type: 'ephemeral', ttl: '5m' } };
const imagePart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } };
const chatTool = { type: 'function', function: { name: 'f', description: 'd', parameters: schema } };
const contents = [
  { role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: 'AA==' } }] },
  { role: 'model', parts: [{ functionCall: { name: 'f', args: { b: 1, a: 2 } } }] },
];
const converseBody = {
  messages: [
    { role: 'user', content: [{ text: 'hi' }, { image: { format: 'png', source: { bytes: 'AA==' } } }] },
    { role: 'assistant', content: [{ toolUse: { toolUseId: 't', name: 'f', input: { b: 1, a: 2 } } }] },
  ],
  system: [{ text: 's' }],
  inferenceConfig: { temperature: 0, topP: 0.5, maxTokens: 5, stopSequences: ['x'] },
  toolConfig: { tools: [{ toolSpec: { name: 'f', inputSchema: { json: schema } } }] },
  requestMetadata: { team: 'a' },
};
const anthropicBody = {
  model: 'm',
  max_tokens: 5,
  system: [textPart],
  messages: [
    {
      role: 'user',
      content: [textPart, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }],
    },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { b: 1, a: 2 } }] },
  ],
  temperature: 0.5,
  top_p: 0.25,
  top_k: 5,
  thinking: { type: 'disabled', budget: 1 },
  tools: [{ name: 'f', input_schema: schema }],
  metadata: { user_id: 'u' },
};

const chat: EndpointShape = {
  sample: 'chat',
  body: {
    model: 'm',
    messages: [
      { role: 'system', content: 's', name: 'n' },
      { role: 'user', content: [textPart, imagePart] },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f' } }] },
    ],
    temperature: 0.5,
    top_p: 1,
    min_p: 0.05,
    frequency_penalty: -1,
    presence_penalty: 0,
    repetition_penalty: 1.5,
    length_penalty: 1,
    seed: 7,
    n: 2,
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
    logit_bias: { '10': 1, '9': -1 },
    tools: [chatTool],
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    chat_template_kwargs: { b: 1, a: 2 },
    user: 'u',
    safety_identifier: 's',
    prompt_cache_key: 'p',
  },
  envelopes: [
    '/messages/*',
    '/messages/*/content/*',
    '/messages/*/content/*/image_url',
    '/messages/*/content/*/cache_control',
    '/stream_options',
    '/logit_bias',
  ],
  floats: [
    '/temperature',
    '/top_p',
    '/min_p',
    '/frequency_penalty',
    '/presence_penalty',
    '/repetition_penalty',
    '/length_penalty',
  ],
  ordered: [
    '/tools/0',
    '/tools/0/function',
    '/tools/0/function/parameters/properties',
    '/response_format/json_schema/schema/properties',
    '/chat_template_kwargs',
    '/messages/2/tool_calls/0',
  ],
  identity: ['user', 'safety_identifier', 'prompt_cache_key'],
};

const completions: EndpointShape = {
  sample: 'completions',
  body: {
    model: 'm',
    prompt: ['a', 'b'],
    temperature: 0.5,
    top_p: 1,
    seed: 3,
    logit_bias: { '5': 1, '4': 2 },
    user: 'u',
  },
  envelopes: ['/logit_bias'],
  floats: ['/temperature', '/top_p'],
  ordered: [],
  identity: ['user'],
};

const embeddings: EndpointShape = {
  sample: 'embeddings',
  body: { model: 'm', input: ['a', 'b'], dimensions: 256, encoding_format: 'float', user: 'u' },
  envelopes: [],
  floats: [],
  ordered: [],
  identity: ['user'],
};

const responses: EndpointShape = {
  sample: 'responses',
  body: {
    model: 'm',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    ],
    store: false,
    temperature: 0.5,
    top_p: 1,
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'json_schema', name: 'x', schema } },
    tools: [{ type: 'function', name: 'f', parameters: schema }],
    metadata: { b: '1', a: '2' },
    user: 'u',
  },
  envelopes: ['/input/*', '/input/*/content/*', '/reasoning'],
  floats: ['/temperature', '/top_p'],
  ordered: [
    '/text/format',
    '/text/format/schema/properties',
    '/tools/0',
    '/tools/0/parameters/properties',
    '/metadata',
  ],
  identity: [],
};

const anthropic: EndpointShape = {
  sample: 'anthropic',
  body: anthropicBody,
  envelopes: [
    '/messages/*',
    '/messages/*/content/*',
    '/messages/*/content/*/source',
    '/messages/*/content/*/cache_control',
    '/system/*',
    '/system/*/cache_control',
    '/thinking',
  ],
  floats: ['/temperature', '/top_p'],
  ordered: ['/messages/1/content/0/input', '/tools/0', '/tools/0/input_schema/properties'],
  identity: ['metadata'],
};

const gemini: EndpointShape = {
  sample: 'gemini',
  body: {
    contents,
    systemInstruction: { role: 'user', parts: [{ text: 's' }] },
    generationConfig: {
      temperature: 0.5,
      topP: 1,
      topK: 40,
      presencePenalty: 0.25,
      frequencyPenalty: 1,
      seed: 7,
      maxOutputTokens: 5,
      thinkingConfig: { thinkingBudget: 0, includeThoughts: true },
      responseSchema: schema,
    },
    tools: [{ functionDeclarations: [{ name: 'f', parameters: schema }] }],
    safetySettings: [{ category: 'c', threshold: 't' }],
    labels: { b: '1', a: '2' },
  },
  envelopes: [
    '/contents/*',
    '/contents/*/parts/*',
    '/contents/*/parts/*/inlineData',
    '/systemInstruction',
    '/generationConfig',
    '/generationConfig/thinkingConfig',
  ],
  floats: ['temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty'].map(
    (name) => `/generationConfig/${name}`,
  ),
  ordered: [
    '/generationConfig/responseSchema/properties',
    '/tools/0/functionDeclarations/0',
    '/contents/1/parts/0/functionCall/args',
    '/labels',
  ],
  identity: [],
};

const converse: EndpointShape = {
  sample: 'converse',
  body: converseBody,
  envelopes: ['/messages/*', '/messages/*/content/*', '/inferenceConfig'],
  floats: ['/inferenceConfig/temperature', '/inferenceConfig/topP'],
  ordered: [
    '/messages/1/content/0/toolUse',
    '/messages/1/content/0/toolUse/input',
    '/toolConfig/tools/0/toolSpec',
    '/toolConfig/tools/0/toolSpec/inputSchema/json/properties',
  ],
  identity: ['requestMetadata'],
};

const invoke: EndpointShape = {
  ...anthropic,
  sample: 'invoke',
  body: { ...anthropicBody, anthropic_version: 'bedrock-2023-05-31' },
  identity: [],
};

const ollama: EndpointShape = {
  sample: 'ollama_chat',
  body: {
    model: 'm',
    messages: [
      { role: 'assistant', content: 'hi', tool_calls: [{ function: { name: 'f', arguments: { b: 1, a: 2 } } }] },
    ],
    options: { temperature: 0.5, top_p: 1, repeat_penalty: 1.5, seed: 5, num_ctx: 10 },
    format: schema,
    tools: [chatTool],
    stream: false,
  },
  envelopes: ['/messages/*', '/options'],
  floats: ['/options/temperature', '/options/top_p', '/options/repeat_penalty'],
  ordered: ['/messages/0/tool_calls/0/function/arguments', '/format/properties', '/tools/0'],
  identity: [],
};

const cohere: EndpointShape = {
  sample: 'cohere_chat',
  body: {
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    documents: [{ id: 'd', data: { b: '1', a: '2' } }],
    temperature: 0.5,
    p: 0.75,
    k: 3,
    seed: 9,
    tools: [chatTool],
    stream: true,
  },
  envelopes: ['/messages/*', '/messages/*/content/*'],
  floats: ['/temperature', '/p'],
  ordered: ['/documents/0', '/documents/0/data', '/tools/0'],
  identity: [],
};

function plain(sample: string, body: EndpointShape['body'], ordered: readonly string[] = []): EndpointShape {
  return { sample, body, envelopes: [], floats: [], ordered, identity: [] };
}

/** One or more for every profile. */
export const endpointShapes: readonly EndpointShape[] = [
  chat,
  completions,
  embeddings,
  { ...plain('moderations', { input: [textPart, imagePart] }), envelopes: ['/input/*', '/input/*/image_url'] },
  responses,
  { ...responses, sample: 'input_tokens' },
  { ...chat, sample: 'azure_chat' },
  { ...completions, sample: 'azure_completions' },
  { ...embeddings, sample: 'azure_embeddings' },
  anthropic,
  { ...anthropic, sample: 'anthropic_count' },
  gemini,
  { ...gemini, sample: 'gemini_stream' },
  { ...gemini, sample: 'vertex' },
  plain('gemini_embed', { content: { role: 'user', parts: [{ text: 'hi' }] }, taskType: 't' }, ['/content']),
  plain('gemini_batch_embed', { requests: [{ model: 'models/g', content: { parts: [] } }] }, ['/requests/0']),
  { ...gemini, sample: 'gemini_count' },
  converse,
  { ...converse, sample: 'converse_stream' },
  invoke,
  { ...invoke, sample: 'invoke_stream' },
  plain('bedrock_count', { input: { converse: { system: [{ text: 's' }], messages: [] } } }, ['/input/converse']),
  ollama,
  {
    ...ollama,
    sample: 'ollama_generate',
    body: {
      model: 'm',
      prompt: 'hi',
      options: { temperature: 0.5, top_p: 1, repeat_penalty: 2, seed: 5 },
      format: schema,
    },
    ordered: ['/format/properties'],
  },
  {
    ...plain('ollama_embed', { model: 'm', input: ['hi'], options: { num_ctx: 1, seed: 2 } }),
    envelopes: ['/options'],
  },
  cohere,
  plain(
    'cohere_embed',
    { model: 'm', texts: ['a', 'b'], input_type: 'search_query', inputs: [{ content: [], x: 1 }] },
    ['/inputs/0'],
  ),
  plain('cohere_rerank', { model: 'm', query: 'q', documents: ['a', { text: 'b', title: 't' }], top_n: 1 }, [
    '/documents/1',
  ]),
  {
    ...plain('fim', { model: 'm', prompt: 'p', suffix: 's', temperature: 0.5, top_p: 1, random_seed: 3, stream: true }),
    floats: ['/temperature', '/top_p'],
  },
];
