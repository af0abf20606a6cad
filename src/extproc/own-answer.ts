/** The few answers that are our own, in the shape of the provider's errors, so that its clients read and retry them. */

import type { HeaderList } from '../coalesce/request/head.ts';
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

/**
 * OpenAI: `{"error":{message,type,param,code}}`; Anthropic: `{"type":"error","error":{type,message}}`; Gemini:
 * `{"error":{code,message,status}}`. Plain: Bedrock and Cohere read `message`, Ollama's clients `error`.
 */
function errorBody({ status, reason, errorShape }: OwnAnswer): object {
  const message = MESSAGES[reason];
  const isShed = status === 429;
  switch (errorShape) {
    case 'openai':
      return { error: { message, type: isShed ? 'rate_limit_exceeded' : 'server_error', param: null, code: reason } };
    case 'anthropic':
      return { type: 'error', error: { type: isShed ? 'rate_limit_error' : 'timeout_error', message } };
    case 'gemini':
      return { error: { code: status, message, status: isShed ? 'RESOURCE_EXHAUSTED' : 'DEADLINE_EXCEEDED' } };
    case 'plain':
      return { message, error: message };
  }
}
