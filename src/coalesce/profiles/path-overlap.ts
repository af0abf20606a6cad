/** Whether two templates of paths (`path-pattern.ts`) have a path in common. Exact for templates with one `{model}` each. */

interface Segment {
  readonly before: string;
  /** Null where the segment is literal. */
  readonly after: string | null;
}

interface Template {
  readonly hasPrefix: boolean;
  readonly segments: readonly Segment[];
}

export function doPathsOverlap(left: string, right: string): boolean {
  const a = parse(left);
  const b = parse(right);
  const [short, long] = a.segments.length <= b.segments.length ? [a, b] : [b, a];
  const surplus = long.segments.length - short.segments.length;
  // What the longer one has in front falls to the other's prefix.
  if (surplus > 0 && !short.hasPrefix) return false;
  return short.segments.every((segment, index) => canMeet(segment, long.segments[index + surplus] ?? segment));
}

function parse(template: string): Template {
  const hasPrefix = template.startsWith('**');
  const plain = hasPrefix ? template.slice(2) : template;
  const segments = plain.split('/').slice(1).map(parseSegment);
  return { hasPrefix, segments };
}

function parseSegment(text: string): Segment {
  const [before = '', after] = text.split('{model}');
  return { before, after: after ?? null };
}

function canMeet(left: Segment, right: Segment): boolean {
  if (left.after === null && right.after === null) return left.before === right.before;
  if (left.after === null) return isInstance(left.before, right);
  if (right.after === null) return isInstance(right.before, left);
  return (
    (left.before.startsWith(right.before) || right.before.startsWith(left.before)) &&
    (left.after.endsWith(right.after) || right.after.endsWith(left.after))
  );
}

function isInstance(text: string, { before, after }: Segment): boolean {
  const end = after ?? '';
  return text.startsWith(before) && text.endsWith(end) && text.length > before.length + end.length;
}
