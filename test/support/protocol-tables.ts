/** What the protocol machine and the flight table really do, in the form of docs/protocol.md's tables. */

import { advance } from '../../src/extproc/exchange.ts';
import { eventSamples, phaseSamples } from './exchange-samples.ts';

/** By row and column, the sorted words of a cell. */
export type Table = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The cell of an event that is out of place, or that changes no phase. */
export const NOTHING = '–';

/** Where each event leads from each phase, over all samples of both. `over` says with which ending. */
export function exchangeTable(): Table {
  const rows = Object.entries(phaseSamples).map(([phase, samples]): [string, Map<string, string>] => {
    const cells = Object.entries(eventSamples).map(([event, events]): [string, string] => {
      const words = samples.flatMap((from) =>
        events.map((sample) => {
          const { phase: to } = advance(from, sample);
          if (to.phase !== 'over' || from.phase === 'over') return to.phase;
          return to.ending === 'protocol_error' ? NOTHING : `over:${to.ending}`;
        }),
      );
      return [event, cellOf(words)];
    });
    return [phase, new Map(cells)];
  });
  return new Map(rows);
}

export function cellOf(words: Iterable<string>): string {
  return [...new Set(words)].toSorted().join(', ');
}

/** The tables of a markdown text whose first column has this heading, joined by row. */
export function tableUnder(markdown: string, heading: string): Table {
  const rows = new Map<string, Map<string, string>>();
  let columns: string[] | null = null;
  for (const line of markdown.split('\n')) {
    const cells = line.startsWith('|') ? line.split('|').slice(1, -1).map(plain) : null;
    if (cells === null) columns = null;
    else if (columns === null) columns = cells;
    else if (columns[0] === heading && !/^[-: ]+$/.test(cells[0] ?? '')) {
      const row = rows.get(cells[0] ?? '') ?? new Map<string, string>();
      rows.set(cells[0] ?? '', row);
      for (const [index, name] of columns.entries())
        if (index > 0) row.set(name, cellOf((cells[index] ?? '').split(', ')));
    }
  }
  return rows;
}

function plain(cell: string): string {
  return cell.replaceAll('`', '').trim();
}
