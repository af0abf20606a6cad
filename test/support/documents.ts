/**
 * The documents that ship, read for tests: which there are, the commands in them, the places that their links name.
 *
 * A command stands in a fence of the kind `console`, behind `$ `; the lines below it, up to the next one, are what it prints,
 * with `…` for what differs. Or it stands in backticks within a sentence.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../harness/root.ts';
import { readShipped } from './deployed.ts';

export type Document = { readonly path: string; readonly text: string };

export type Command = {
  /** `docs/safety.md:36`. */
  readonly place: string;
  /** Without its comment. */
  readonly text: string;
  /** Behind five spaces and `#`; '' where there is none. */
  readonly comment: string;
  /** Lines that it prints, as the document says. */
  readonly prints: readonly string[];
};

export type Fence = { readonly kind: string; readonly line: number; readonly lines: readonly string[] };

/** Markdown in the root, in docs/ and in deploy/, in whatever folder. */
export function documents(): Document[] {
  const below = ['docs', 'deploy'].flatMap((folder) => {
    const names = readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' });
    return names.map((name) => join(folder, name));
  });
  const paths = [...readdirSync(repositoryRoot), ...below].filter((path) => path.endsWith('.md')).toSorted();
  return paths.map((path) => ({ path, text: readShipped(path) }));
}

/** Fences of a kind that nobody reads for commands, and commands outside of a fence, as `place: what is wrong`. */
export function hiddenCommands({ path, text }: Document): string[] {
  const wrongKinds = fencesOf(text)
    .filter(({ kind }) => !['console', 'yaml', 'json', ''].includes(kind))
    .map(
      ({ kind, line }) => `${path}:${line}: a fence of the kind ${kind}: write commands into one of the kind console`,
    );
  const outside = linesOf(text).flatMap((line, index) =>
    /^ {0,8}\$ /.test(line) && !isIn(fencesOf(text), index + 1)
      ? [`${path}:${index + 1}: a command outside of a fence`]
      : [],
  );
  return [...wrongKinds, ...outside];
}

/** The commands in fences. */
export function fencedCommands({ path, text }: Document): Command[] {
  return fencesOf(text)
    .filter(({ kind }) => kind === 'console')
    .flatMap(({ line, lines }) => commandsIn(lines, (index) => `${path}:${line + 1 + index}`));
}

/** What is in backticks and begins as a command does, in sentences and tables. */
export function inlineCommands({ path, text }: Document): Command[] {
  const fences = fencesOf(text);
  const begins =
    /^(?:[A-Z_]+=\S+ )*(?:\$ )?(?:(?:npm|npx|node|envoy-coalescer|docker|kubectl|kustomize|helm|istioctl|curl|pip|python3|git|kill|promtool)\s|\.ci\/)/;
  return linesOf(text).flatMap((line, index) => {
    if (isIn(fences, index + 1)) return [];
    const spans = [...line.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span).filter((span) => begins.test(span));
    return spans.map((span) => ({ place: `${path}:${index + 1}`, text: span, comment: '', prints: [] }));
  });
}

/** The places of a document that links can name. */
export function headingsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

function commandsIn(lines: readonly string[], placeOf: (index: number) => string): Command[] {
  const starts = lines.flatMap((line, index) => (line.startsWith('$ ') ? [index] : []));
  return starts.map((start, order) => {
    const [text = '', comment = ''] = (lines[start] ?? '').slice(2).split(/ {5}# /);
    return { place: placeOf(start), text, comment, prints: lines.slice(start + 1, starts[order + 1]) };
  });
}

/** Fences may be indented, within a list. */
export function fencesOf(text: string): Fence[] {
  const lines = linesOf(text);
  const marks = lines.flatMap((line, index) => (/^ *```/.test(line) ? [index] : []));
  return marks.flatMap((start, order) => {
    const end = marks[order + 1];
    if (order % 2 === 1 || end === undefined) return [];
    const [, indent = '', kind = ''] = /^( *)```(\w*)/.exec(lines[start] ?? '') ?? [];
    return [{ kind, line: start + 1, lines: lines.slice(start + 1, end).map((line) => line.slice(indent.length)) }];
  });
}

function isIn(fences: readonly Fence[], line: number): boolean {
  return fences.some((fence) => line > fence.line && line <= fence.line + fence.lines.length);
}

function linesOf(text: string): string[] {
  return text.split('\n');
}
