/**
 * The measured runs as Markdown tables: a line per figure with the median and range of each target, and the ratios between
 * targets.
 */
import type { Figure, Load } from '../measure/plan.ts';
import type { Run } from '../measure/run.ts';
import { type TargetName, targetNames } from '../measure/targets.ts';
import { median } from './statistics.ts';

/** The runs of one load, by target. */
export type RunsByTarget = ReadonlyMap<TargetName, readonly Run[]>;

const ratios: ReadonlyArray<readonly [TargetName, TargetName]> = [
  ['no-op ext_proc', 'Envoy alone'],
  ['ours attached', 'Envoy alone'],
  ['ours attached', 'no-op ext_proc'],
  ['ours detached', 'Envoy alone'],
  ['ours detached', 'no-op ext_proc'],
];

/** Two tables: the absolute figures, and their ratios. */
export function tablesOf(load: Load, runs: RunsByTarget): string {
  const absolute = load.figures.map((figure) => [
    figure.title,
    ...targetNames.map((name) => cellOf(figure, runs.get(name) ?? [])),
  ]);
  const comparable = load.figures.filter(({ isDifference }) => isDifference !== true);
  const relative = comparable.map((figure) => [
    figure.title,
    ...ratios.map(([one, other]) => ratioOf(medianOf(figure, runs.get(one)), medianOf(figure, runs.get(other)))),
  ]);
  const ratioHeads = ratios.map(([one, other]) => `${one} ÷ ${other}`);
  return [
    tableOf(['', ...targetNames], absolute),
    tableOf(
      ['ratio', ...ratioHeads],
      relative.filter((row) => row.slice(1).some((cell) => cell !== NONE)),
    ),
  ].join('\n');
}

/** One run in a few words, for the progress. */
export function summaryOf(load: Load, run: Run): string {
  const [first, second] = load.figures.map((figure) => `${figure.title} ${shown(figure.of(run), figure.digits)}`);
  return `${first ?? ''}; ${second ?? ''}; other load ${shown(run.otherCores, 2)} cores`;
}

const NONE = '–';

function cellOf(figure: Figure, runs: readonly Run[]): string {
  const values = valuesOf(figure, runs);
  if (values.length === 0) return NONE;
  const middle = shown(median(values), figure.digits);
  const range = [Math.min(...values), Math.max(...values)].map((value) => shown(value, figure.digits));
  return range[0] === range[1] ? middle : `${middle} (${range.join(' to ')})`;
}

function medianOf(figure: Figure, runs: readonly Run[] | undefined): number {
  return median(valuesOf(figure, runs ?? []));
}

function valuesOf(figure: Figure, runs: readonly Run[]): number[] {
  return runs.map((run) => figure.of(run) ?? Number.NaN).filter(Number.isFinite);
}

function ratioOf(value: number, base: number): string {
  if (!Number.isFinite(value) || !Number.isFinite(base) || base === 0) return NONE;
  const ratio = value / base;
  return ratio.toFixed(ratio < 0.1 ? 3 : 2);
}

function shown(value: number | undefined, digits: number): string {
  if (value === undefined || !Number.isFinite(value)) return NONE;
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return text.replace(/^-(0(?:\.0+)?)$/, '$1');
}

function tableOf(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line), ''].join('\n');
}
