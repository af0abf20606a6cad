/** The measured runs as Markdown tables: a line per target, a column per figure, each the median with its range. */
import type { Figure, Load } from '../loads/load.ts';
import type { Run } from '../measure/run.ts';
import { type TargetName, targetNames } from '../measure/targets.ts';
import { median } from './statistics.ts';
import type { Row } from './targets-met.ts';

/** One load's runs. */
export function tableOfLoad(load: Load, runs: ReadonlyMap<TargetName, readonly Run[]>): string {
  const measured = targetNames.filter((name) => (runs.get(name)?.length ?? 0) > 0);
  const rows = measured.map((name) => [name, ...load.figures.map((figure) => cellOf(figure, runs.get(name) ?? []))]);
  return tableOf(['', ...load.figures.map(({ title }) => title)], rows);
}

/** Target, measured, met. */
export function tableOfTargets(rows: readonly Row[]): string {
  const lines = rows.map(({ work, target, measured, isMet }) => [work, target, measured, wordFor(isMet)]);
  return tableOf(['work', 'target', 'measured', 'met?'], lines);
}

function wordFor(isMet: boolean | null): string {
  if (isMet === null) return 'not measured';
  return isMet ? 'yes' : '**no**';
}

/** One run in a few words, for the progress. */
export function summaryOf(load: Load, run: Run): string {
  const [first, second] = load.figures.map((figure) => `${figure.title} ${shown(figure.of(run), figure.digits)}`);
  return `${first ?? ''}; ${second ?? ''}; other load ${shown(run.otherCores, 2)} cores`;
}

function cellOf(figure: Figure, runs: readonly Run[]): string {
  const values = runs.map((run) => figure.of(run) ?? Number.NaN).filter(Number.isFinite);
  if (values.length === 0) return '–';
  const middle = shown(median(values), figure.digits);
  const range = [Math.min(...values), Math.max(...values)].map((value) => shown(value, figure.digits));
  return range[0] === range[1] ? middle : `${middle} (${range.join(' to ')})`;
}

function shown(value: number | undefined, digits: number): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return text.replace(/^-(0(?:\.0+)?)$/, '$1');
}

export function tableOf(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line), ''].join('\n');
}
