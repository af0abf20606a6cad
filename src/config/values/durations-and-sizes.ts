/**
 * The notation of durations (`500ms`, `2s`, `10m`, `1h`) and sizes (`64KiB`, `8MiB`, plain bytes): reading and
 * writing it. Owns no limits of single keys.
 */

const durationUnits = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

const sizeUnits = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
] as const;

/** Milliseconds of a whole number with its unit; null for anything else. */
export function parseDuration(value: unknown): number | null {
  if (typeof value !== 'string') return null;
  return parseQuantity(value, durationUnits);
}

/** Bytes of a whole number, or of one with a binary unit; null for anything else. */
export function parseSize(value: unknown): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== 'string') return null;
  return parseQuantity(value, [...sizeUnits, ['', 1]]);
}

/** The shortest exact notation of whole milliseconds. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const [unit, factor] = durationUnits.find(([, candidate]) => ms % candidate === 0) ?? ['ms', 1];
  return `${ms / factor}${unit}`;
}

/** The shortest exact notation of whole bytes. */
export function formatSize(bytes: number): string {
  const exact = sizeUnits.find(([, factor]) => bytes > 0 && bytes % factor === 0);
  return exact === undefined ? String(bytes) : `${bytes / exact[1]}${exact[0]}`;
}

function parseQuantity(text: string, units: readonly (readonly [unit: string, factor: number])[]): number | null {
  const match = /^(\d{1,15})([a-zA-Z]*)$/.exec(text);
  const unit = units.find(([name]) => name === match?.[2]);
  if (match === null || unit === undefined) return null;
  const total = Number(match[1]) * unit[1];
  return Number.isSafeInteger(total) ? total : null;
}
