/** What the flight table commands of an exchange, as the event that its protocol machine takes. */

import type { ExchangeId } from '../coalesce/flight/flight.ts';
import type { Command } from '../coalesce/table/effects.ts';
import type { ExchangeEvent } from '../extproc/exchange-phase.ts';

type ExchangeCommand = Extract<Command, { exchange: ExchangeId }>;

export function exchangeEvent(command: ExchangeCommand): ExchangeEvent {
  switch (command.kind) {
    case 'wake':
      return { kind: 'woken' };
    case 'promote':
      return { kind: 'promoted', flight: command.flight };
    case 'release':
      return { kind: 'released', reason: command.reason };
    case 'refuse':
      return { kind: 'refused', answer: command.answer };
    case 'cut':
      return { kind: 'cutOff', ending: command.ending };
    case 'stopCapture':
      return { kind: 'captureStopped' };
  }
}
