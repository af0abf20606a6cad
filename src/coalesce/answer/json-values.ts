/** The JSON texts of an answer's body, in order: of a stream each event's, line's or item's, of any other the one. */

export interface JsonValues {
  readonly values: readonly unknown[];
  /** Data that is no JSON, but for the `[DONE]` that ends a stream. */
  readonly others: readonly string[];
}

/** `contentType` as the answer's head says it. A text that is no JSON as a whole is read line by line. */
export function jsonValues(body: Uint8Array, contentType: string): JsonValues {
  const text = new TextDecoder().decode(body);
  if (isEventStream(contentType)) return parseEach(eventData(text));
  const whole = parsed(text);
  if (whole === undefined) return parseEach(text.split('\n').filter((line) => line.trim() !== ''));
  return { values: Array.isArray(whole) ? whole : [whole], others: [] };
}

export function isEventStream(contentType: string): boolean {
  return /^\s*text\/event-stream/i.test(contentType);
}

/** The JSON texts of those events of a stream that name this member, the last first, each parsed when it is asked for. */
export function* eventsNaming(member: string, body: Uint8Array): Generator<unknown> {
  const text = new TextDecoder().decode(body);
  const name = JSON.stringify(member);
  const events = text.includes('\r') ? eventsOf(text).toReversed() : eventsAround(name, text);
  for (const event of events) {
    if (event.includes(name)) yield parsed(dataOf(event).join('\n'));
  }
}

/** Of a text without CR. Few events have the name: to search for them costs a fraction of taking all apart. */
function* eventsAround(name: string, text: string): Generator<string> {
  let end = text.length;
  while (end >= name.length) {
    const at = text.lastIndexOf(name, end - name.length);
    if (at === -1) return;
    const blank = text.lastIndexOf('\n\n', at);
    const next = text.indexOf('\n\n', at);
    const start = blank === -1 ? 0 : blank + 2;
    yield text.slice(start, next === -1 ? text.length : next);
    end = start;
  }
}

/** WHATWG HTML, section 9.2.6. The last event may lack its blank line. */
function eventsOf(text: string): string[] {
  return text.split(/\r\n\r\n|\n\n|\r\r/);
}

function eventData(text: string): string[] {
  return eventsOf(text).flatMap((event) => {
    const lines = dataOf(event);
    return lines.length === 0 ? [] : [lines.join('\n')];
  });
}

function dataOf(event: string): string[] {
  return event.split(/\r\n|\n|\r/).flatMap((line) => {
    return line.startsWith('data:') ? [line.slice(line.startsWith('data: ') ? 6 : 5)] : [];
  });
}

function parseEach(texts: readonly string[]): JsonValues {
  const values: unknown[] = [];
  const others: string[] = [];
  for (const text of texts) {
    const value = parsed(text);
    if (value !== undefined) values.push(value);
    else if (text !== '[DONE]') others.push(text);
  }
  return { values, others };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // No JSON is an answer like any other: whoever reads it says what it means.
    return undefined;
  }
}

/** A member of what may be an object. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** The items of what may be an array. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
