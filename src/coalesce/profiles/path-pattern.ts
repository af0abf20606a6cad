/**
 * Templates of paths: `{model}` is a part of one segment, and `**` before the first slash is any prefix, as gateways
 * have them. Everything else is literal, and compared byte by byte.
 */

const PREFIX = '**';
const MODEL = '{model}';

export interface PathPattern {
  readonly template: string;
  /** Matches the whole of a raw path without its query; the group `model` is what `{model}` stands for. */
  readonly pattern: RegExp;
  /** What every match ends with: told in less time than the pattern takes to fail. */
  readonly ending: string;
}

export function pathPatterns(...templates: readonly string[]): readonly PathPattern[] {
  return templates.map((template) => ({ template, pattern: compile(template), ending: endingOf(template) }));
}

/** The first match of a raw path, with or without a query. */
export function matchPath(patterns: readonly PathPattern[], path: string): RegExpExecArray | null {
  const mark = path.indexOf('?');
  const plain = mark === -1 ? path : path.slice(0, mark);
  for (const { pattern, ending } of patterns) {
    const match = plain.endsWith(ending) ? pattern.exec(plain) : null;
    if (match !== null) return match;
  }
  return null;
}

/** A path that the pattern matches; two patterns overlap for certain where one matches the other's. */
export function samplePath({ template }: PathPattern): string {
  return template.replace(PREFIX, '').replace(MODEL, 'some-model');
}

function compile(template: string): RegExp {
  const hasPrefix = template.startsWith(PREFIX);
  const literals = (hasPrefix ? template.slice(PREFIX.length) : template).split(MODEL).map(escapeLiteral);
  return new RegExp(`^${hasPrefix ? '(?:/.*)?' : ''}${literals.join('(?<model>[^/]+)')}$`, 's');
}

function endingOf(template: string): string {
  return (
    template
      .slice(template.startsWith(PREFIX) ? PREFIX.length : 0)
      .split(MODEL)
      .at(-1) ?? ''
  );
}

function escapeLiteral(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
