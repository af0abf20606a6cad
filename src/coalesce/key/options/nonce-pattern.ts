/**
 * The notation of what `strip_nonces` takes out: characters, sets of characters, and how often each comes. A small part of
 * regular expressions, chosen so that a match needs no second try: `req-[0-9a-f]{8,32}`, `[0-9a-f]{8}-[0-9a-f]{4}`.
 *
 * A step that may take more or fewer characters is followed by one that can take none of them. So the longest it can take
 * is the only one that can lead to a match.
 */

/** One set of ASCII characters, and how many of it in a row. */
export interface NonceStep {
  /** By code; true where the character belongs to the set. */
  readonly set: readonly boolean[];
  readonly least: number;
  readonly most: number;
}

export type NoncePattern = readonly NonceStep[];

const ASCII = 128;
/** What is shorter is more often a word than a nonce. */
const fewestCharacters = 4;
const mostCharacters = 256;
const shorthands: ReadonlyMap<string, string> = new Map([
  ['d', '0-9'],
  ['w', '0-9A-Za-z_'],
]);

/** What regular expressions give a meaning, and this notation does not: to be escaped, so that nobody expects it. */
const reserved = '*+?.()|^$';

const PIECE = /\[(\^?)((?:\\.|[^\\\]])+)\]|\\(.)|([^\\[\]{}])/sy;
const COUNT = /\{(\d{1,4})(?:,(\d{1,4}))?\}/y;

/** The pattern that a text spells, or what is wrong with it. */
export function parseNoncePattern(text: string): NoncePattern | string {
  const steps: NonceStep[] = [];
  let at = 0;
  while (at < text.length) {
    const piece = matchAt(PIECE, text, at);
    const set = piece === null ? null : setOf(piece);
    if (piece === null || set === null) return `${JSON.stringify(text.slice(at, at + 12))} is not understood`;
    at += piece[0].length;
    const count = matchAt(COUNT, text, at);
    const least = Number(count?.[1] ?? 1);
    steps.push({ set, least, most: Number(count?.[2] ?? least) });
    at += count?.[0].length ?? 0;
  }
  return faultIn(steps) ?? steps;
}

function faultIn(steps: NoncePattern): string | null {
  if (steps.some(({ least, most }) => least < 1 || most < least)) return 'a count is from 1 up, the smaller one first';
  const shortest = steps.reduce((sum, { least }) => sum + least, 0);
  const longest = steps.reduce((sum, { most }) => sum + most, 0);
  if (shortest < fewestCharacters) return `matches fewer than ${fewestCharacters} characters`;
  if (longest > mostCharacters) return `matches more than ${mostCharacters} characters`;
  if (!steps.some(({ set }) => set.filter(Boolean).length > 1))
    return 'has no set of characters: it is the same each time';
  const swallowed = steps.some((step, index) => step.most > step.least && overlap(step, steps[index + 1]));
  return swallowed ? 'a set of varying length is followed by a character that it holds itself' : null;
}

function overlap({ set }: NonceStep, next: NonceStep | undefined): boolean {
  return next !== undefined && next.set.some((isIn, code) => isIn && set[code] === true);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  const sticky = new RegExp(pattern);
  sticky.lastIndex = at;
  return sticky.exec(text);
}

function setOf([, negated, inner, escaped, plain]: RegExpExecArray): readonly boolean[] | null {
  if (inner !== undefined) return bracketSet(inner, negated === '^');
  if (escaped !== undefined) return bracketSet(`\\${escaped}`, false);
  return plain === undefined || reserved.includes(plain) ? null : rangesOf(plain);
}

/** The inside of brackets. After a backslash no letter and no digit has a meaning but the shorthands'. */
function bracketSet(inner: string, negated: boolean): readonly boolean[] | null {
  const source = inner.replace(/\\([dw])/g, (_, name: string) => shorthands.get(name) ?? '');
  const set = /\\[0-9A-Za-z]/.test(source) ? null : rangesOf(source);
  return negated ? (set?.map((isIn) => !isIn) ?? null) : set;
}

/** The set of these characters and ranges; null where one is empty or goes beyond ASCII. */
function rangesOf(source: string): readonly boolean[] | null {
  const set = Array.from({ length: ASCII }, () => false);
  for (const [, first = '', last = ''] of source.matchAll(/(\\?[^])(?:-(\\?[^]))?/g)) {
    const from = codeOf(first);
    const to = last === '' ? from : codeOf(last);
    if (from === null || to === null || to < from) return null;
    set.fill(true, from, to + 1);
  }
  return set;
}

/** Of one character, escaped or not. */
function codeOf(text: string): number | null {
  const code = text.charCodeAt(text.length - 1);
  return code >= ASCII ? null : code;
}
