/**
 * A YAML text as a tree that knows its lines: its plain data, the mistakes of its syntax, and the line of any key or
 * value. Knows nothing of the configuration's definition.
 */
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Pair, YAMLError } from 'yaml';

import type { Finding, KeyPath } from './mistakes/mistakes.ts';

/** A syntax mistake; its path is empty but for a key that is given twice. */
export interface SyntaxMistake extends Finding {
  readonly line: number;
}

export interface Source {
  /** Undefined where the syntax leaves no data; an empty text is an empty mapping. */
  readonly data: unknown;
  readonly mistakes: readonly SyntaxMistake[];
  /** The line of a key or value, or of the nearest thing around it that is there. From 1. */
  readonly lineOf: (finding: Pick<Finding, 'path' | 'onKey'>) => number;
  /** A path without the steps that the text does not have: an index into what is no list. */
  readonly trim: (path: KeyPath) => KeyPath;
}

/** Reads one YAML document; JSON is YAML. */
export function readSource(text: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const errors = [...document.errors, ...document.warnings];
  const mistakes = errors.map((error) => syntaxMistake(document, error, lineAt(error.pos[0])));
  const broken = document.errors.some((error) => error.code !== 'DUPLICATE_KEY');
  const lineOf: Source['lineOf'] = ({ path, onKey }) => lineAt(offsetOf(document, path, onKey));
  const trim: Source['trim'] = (path) => trimmed(document, path);
  if (broken) return { data: undefined, mistakes, lineOf, trim };
  try {
    const data: unknown = document.toJS({ maxAliasCount: 100 });
    return { data: data ?? {}, mistakes, lineOf, trim };
  } catch {
    // The library throws for an alias without its anchor, and for aliases that multiply without end.
    const message = 'an alias is unknown or expands too often, expected an anchor before each alias';
    return { data: undefined, mistakes: [...mistakes, { path: [], message, onKey: false, line: 1 }], lineOf, trim };
  }
}

function syntaxMistake(document: Document, error: YAMLError, line: number): SyntaxMistake {
  if (error.code === 'DUPLICATE_KEY') {
    const path = pathAt(document, error.pos[0]);
    return { path, message: 'given twice, expected once', onKey: true, line };
  }
  return { path: [], message: `not valid YAML: ${syntaxMessage(error)}`, onKey: false, line };
}

/** The library's words, but where they repeat a text that may be part of a secret. */
function syntaxMessage(error: YAMLError): string {
  if (error.code === 'TAG_RESOLVE_FAILED') return 'an unknown tag, expected none';
  if (error.code === 'BAD_ALIAS') return 'an alias without a name or anchor';
  return error.message.split(': ')[0] ?? error.code;
}

function offsetOf(document: Document, path: KeyPath, onKey: boolean): number {
  let node: unknown = document.contents;
  let offset = rangeStart(node) ?? 0;
  for (const [index, step] of path.entries()) {
    const inner = childOf(document, node, step);
    if (inner === null) break;
    const wanted = (onKey && index === path.length - 1) || inner.value === null ? inner.key : inner.value;
    offset = rangeStart(wanted) ?? rangeStart(inner.key) ?? offset;
    node = inner.value;
  }
  return offset;
}

function trimmed(document: Document, path: KeyPath): KeyPath {
  let node: unknown = document.contents;
  for (const [index, step] of path.entries()) {
    if (typeof step === 'number' && isScalar(resolved(document, node))) return path.slice(0, index);
    node = childOf(document, node, step)?.value;
  }
  return path;
}

interface Child {
  readonly key: unknown;
  readonly value: unknown;
}

function childOf(document: Document, parent: unknown, step: string | number): Child | null {
  const node = resolved(document, parent);
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step];
    return item === undefined ? null : { key: item, value: item };
  }
  if (!isMap(node)) return null;
  const pair = node.items.find((candidate: Pair) => keyText(candidate) === String(step));
  return pair === undefined ? null : { key: pair.key, value: pair.value };
}

function resolved(document: Document, node: unknown): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}

function keyText(pair: Pair): string {
  return String(isScalar(pair.key) ? pair.key.value : pair.key);
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) return undefined;
  const start: unknown = node.range[0];
  return typeof start === 'number' ? start : undefined;
}

/** The path of the key that begins at this offset; empty where none does. */
function pathAt(document: Document, offset: number): KeyPath {
  let found: KeyPath = [];
  visit(document, {
    Pair(_, pair, parents) {
      if (rangeStart(pair.key) !== offset) return undefined;
      const around = parents.filter((parent) => 'key' in parent);
      found = [...around, pair].map((one) => keyText(one as Pair));
      return visit.BREAK;
    },
  });
  return found;
}
