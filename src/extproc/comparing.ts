/** An exchange under shadow whose answer is compared: it passes on unchanged, message by message, and is told to the table. */

import { keptBytes } from '../coalesce/flight/kept-bytes.ts';
import type { ExchangeCommand, ExchangePhase, Step } from './exchange-phase.ts';
import { withBody } from './capture.ts';
import { answerHeadOf } from './headers.ts';
import type { EnvoyMessage, Reply } from './wire.ts';

type Message<Kind extends EnvoyMessage['kind']> = Extract<EnvoyMessage, { kind: Kind }>;

const comparing: ExchangePhase = { phase: 'comparing' };

export function comparedHead(message: Message<'responseHeaders'>): Step {
  const { endOfStream } = message;
  const reply: Reply = { kind: 'continueResponseHeaders', ...(endOfStream ? {} : withBody) };
  const began: ExchangeCommand = { kind: 'specimenBegan', head: answerHeadOf(message) };
  const commands: ExchangeCommand[] = [{ kind: 'reply', reply }, began];
  return endOfStream ? ended(commands) : { phase: comparing, commands };
}

export function comparedBytes(message: Message<'responseBody'>): Step {
  const commands: ExchangeCommand[] = [{ kind: 'reply', reply: { kind: 'continueResponseBody' } }];
  if (message.body.length > 0) commands.push({ kind: 'specimenGrew', bytes: keptBytes(message.body) });
  return message.endOfStream ? ended(commands) : { phase: comparing, commands };
}

export function comparedTrailers(): Step {
  return ended([{ kind: 'reply', reply: { kind: 'continueResponseTrailers' } }]);
}

function ended(commands: readonly ExchangeCommand[]): Step {
  return {
    phase: { phase: 'over', ending: 'bypassed' },
    commands: [...commands, { kind: 'specimenEnded' }, { kind: 'finish' }],
  };
}
