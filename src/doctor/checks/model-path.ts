/**
 * Whether a route's match can lead to a model: from its path and method alone, since what stands behind it is not said.
 */
import { profileOf } from '../../coalesce/profiles/known-profiles.ts';
import { at, items, textAt, type Node } from '../node.ts';

/** `unsure`: the path could be a model's, but nothing in it says so. */
export type ModelPath = 'yes' | 'no' | 'unsure';

/** Paths of common model APIs, to try matches on. */
const samples = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/messages',
  '/v1beta/models/model:generateContent',
  '/v1beta/openai/chat/completions',
  '/openai/deployments/model/chat/completions',
  '/model/model/converse',
  '/v2/chat',
  '/api/chat',
];

const tellingSegment =
  /\/(v\d+(beta\d*)?|openai|anthropic|gemini|bedrock|azure|models?|llms?|ai|chat|completions|messages)(\/|$)/i;

export function modelPath(match: Node): ModelPath {
  if (!takesPost(match)) return 'no';
  const path = textAt(match, 'path');
  if (path !== null) return profileOf('POST', path) === null ? 'no' : 'yes';
  const prefix = textAt(match, 'prefix') ?? textAt(match, 'path_separated_prefix');
  if (prefix !== null)
    return samples.some((one) => one.startsWith(prefix)) || tellingSegment.test(prefix) ? 'yes' : 'unsure';
  const regex = textAt(match, 'safe_regex', 'regex');
  return regex !== null && matchesSample(regex) ? 'yes' : 'unsure';
}

function takesPost(match: Node): boolean {
  const methods = items(at(match, 'headers')).filter((header) => textAt(header, 'name') === ':method');
  const wanted = methods.flatMap((header) => {
    return [textAt(header, 'exact_match'), textAt(header, 'string_match', 'exact')].filter((value) => value !== null);
  });
  return wanted.every((method) => method === 'POST');
}

/** Envoy matches the whole path. Its RE2 knows spellings that this engine does not: those match nothing here. */
function matchesSample(regex: string): boolean {
  try {
    const whole = new RegExp(`^(?:${regex})$`);
    return samples.some((one) => whole.test(one));
  } catch {
    return false;
  }
}
