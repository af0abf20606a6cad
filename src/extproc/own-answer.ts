/** The few answers that are our own, in the shape of the provider's errors, so that its clients read and retry them. */

import type { HeaderList } from '../coalesce/request/head.ts';
import type { ErrorShape } from '../coalesce/profiles/profile.ts';
import type { OwnAnswer } from '../coalesce/table/effects.ts';
import type { Reply } from './wire.ts';

const MESSAGES: Readonly<Record<OwnAnswer['reason'], string>> = {
  queue_full: 'Too many requests are waiting for the upstream. Retry later.',
  max_wait: 'The upstream did not become free in time. Retry later.',
  first_byte_timeout: 'The upstream did not answer in time.',
  idle_timeout: 'The upstream stopped answering.',
  total_timeout: 'The upstream did not finish in time.',
};

/** An immediate reply that ends the exchange with this answer. `outcome` goes into the dynamic metadata. */
export function ownReply(answer: OwnAnswer, outcome: 'shed'): Reply {
  const headers: HeaderList = [
    ['content-type', 'application/json'],
    ...(answer.retryAfterSeconds === null ? [] : ([['retry-after', String(answer.retryAfterSeconds)]] as const)),
  ];
  const body = Buffer.from(JSON.stringify(errorBody(answer)));
  const metadata = answer.status === 429 ? { outcome, reason: answer.reason } : { reason: answer.reason };
  return { kind: 'immediate', status: answer.status, headers, body, details: `coalesce_${answer.reason}`, metadata };
}

/** OpenAI: `{"error":{message,type,param,code}}`; Anthropic: `{"type":"error","error":{type,message}}`. */
function errorBody(answer: OwnAnswer): object {
  const message = MESSAGES[answer.reason];
  const shape: ErrorShape = answer.errorShape;
  if (shape === 'anthropic') {
    return { type: 'error', error: { type: answer.status === 429 ? 'rate_limit_error' : 'timeout_error', message } };
  }
  const type = answer.status === 429 ? 'rate_limit_exceeded' : 'server_error';
  return { error: { message, type, param: null, code: answer.reason } };
}
