/**
 * Names as readers that ignore case see them (Go's encoding/json among them): ASCII letters without case, and the two
 * other characters whose simple folding is an ASCII letter.
 */

/** Characters beyond ASCII that fold to an ASCII letter. */
const foldedLetters: ReadonlyMap<string, string> = new Map([
  ['\u017f', 's'], // LATIN SMALL LETTER LONG S
  ['\u212a', 'k'], // KELVIN SIGN
]);

/** Two names that fold to the same text are one name to such a reader. */
export function foldName(name: string): string {
  return name.replace(/[A-Z\u017f\u212a]/g, (letter) => foldedLetters.get(letter) ?? letter.toLowerCase());
}

/** Whether two of these names, which are all different, are one name to such a reader. */
export function haveFoldedPair(names: readonly string[]): boolean {
  if (!names.some((name) => /[A-Z\u017f\u212a]/.test(name))) return false;
  return new Set(names.map(foldName)).size < names.length;
}
