/** Which events of a stream are found by a member's name, and in which order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventsNaming } from '../../src/coalesce/answer/json-values.ts';

function found(text: string): unknown[] {
  return [...eventsNaming('usage', Buffer.from(text))];
}

test('the last event that names the member comes first', () => {
  const text = 'data: {"usage":1}\n\ndata: {"a":2}\n\n: note\nevent: x\ndata: {"usage":\ndata: 3}\n\n';
  expect(found(text)).toEqual([{ usage: 3 }, { usage: 1 }]);
  expect(found(text.replaceAll('\n', '\r\n'))).toEqual([{ usage: 3 }, { usage: 1 }]);
  expect(found(text.replaceAll('\n', '\r'))).toEqual([{ usage: 3 }, { usage: 1 }]);
});

test('an event at either end needs no blank line, and one that is no JSON is undefined', () => {
  expect(found('data: {"usage":1}')).toEqual([{ usage: 1 }]);
  expect(found('data: "usage"')).toEqual(['usage']);
  expect(found('"usage"')).toEqual([undefined]);
  expect(found('\n\n\ndata: {"usage":1\n\n\n')).toEqual([undefined]);
  expect(found('')).toEqual([]);
});

test('the same is found whatever ends the lines', () => {
  const line = fc.constantFrom('data: {"usage":1}', 'data: {"a":1}', 'data: "usage"', 'event: usage', '', '');
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      expect(found(lines.join('\n'))).toEqual(found(lines.join('\r\n')));
    }),
  );
});
