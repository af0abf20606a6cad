/** The ratios that are kept in bench/ratios.json, and the gate that compares new ones with them. */

export type Ratio = {
  readonly name: string;
  readonly value: number;
  readonly better: 'higher' | 'lower';
};

/** By how much a ratio may be worse before the gate fails: machines are noisy, and the gate looks for what is not noise. */
const MARGIN = 1.6;

/** What is wrong, a line each, in the order of the kept ones; empty: nothing. */
export function gate(kept: readonly Ratio[], measured: readonly Ratio[], margin: number = MARGIN): string[] {
  const byName = new Map(measured.map((ratio) => [ratio.name, ratio.value]));
  const complaints = kept.map(({ name, value, better }) => {
    const now = byName.get(name);
    if (now === undefined || !Number.isFinite(now)) return `${name}: was not measured (kept: ${value.toFixed(2)})`;
    const worse = better === 'higher' ? value / now : now / value;
    const hint = better === 'higher' ? 'at least' : 'at most';
    const limit = better === 'higher' ? value / margin : value * margin;
    return worse > margin
      ? `${name}: ${now.toFixed(2)}, should be ${hint} ${limit.toFixed(2)} (kept: ${value.toFixed(2)})`
      : null;
  });
  return complaints.filter((complaint) => complaint !== null);
}

/** The text of bench/ratios.json. What was not measured is not in it. */
export function writeRatios(ratios: readonly Ratio[]): string {
  const known = ratios.filter(({ value }) => Number.isFinite(value));
  return `${JSON.stringify(
    known.map((ratio) => ({ ...ratio, value: Number(ratio.value.toFixed(3)) })),
    null,
    2,
  )}\n`;
}

/** Throws where the text is none of ours. */
export function readRatios(text: string): readonly Ratio[] {
  const read: unknown = JSON.parse(text);
  if (!Array.isArray(read) || !read.every(isRatio))
    throw new Error('bench/ratios.json: not a list of ratios; `npm run bench` writes it anew');
  return read;
}

function isRatio(value: unknown): value is Ratio {
  if (typeof value !== 'object' || value === null) return false;
  const { name, value: ratio, better } = value as Partial<Ratio>;
  return (
    typeof name === 'string' && typeof ratio === 'number' && ratio > 0 && (better === 'higher' || better === 'lower')
  );
}
