import fc from 'fast-check';
import { expect, test } from 'vitest';

import { EventCounter } from '../../src/coalesce/flight/event-counter.ts';

function count(...chunks: readonly (string | Uint8Array)[]): number {
  const counter = new EventCounter();
  for (const chunk of chunks) counter.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return counter.events;
}

test.each(['\n', '\r', '\r\n'])('an event ends with a blank line, lines ended by %j', (end) => {
  expect(count(`data: 1${end}${end}`)).toBe(1);
  expect(count(`data: 1${end}data: 2${end}${end}event: x${end}data: 3${end}${end}`)).toBe(2);
});

test('an event whose blank line has not come does not count yet', () => {
  expect(count('data: 1\n')).toBe(0);
  expect(count('data: 1\n', '\n')).toBe(1);
});

test('blank lines alone are no events', () => {
  expect(count('\n\n\n\r\n\r\r\n')).toBe(0);
  expect(count('data: 1\n\n\n\n\ndata: 2\n\n')).toBe(2);
});

test('CR LF cut in two is one line end', () => {
  expect(count('data: 1\r', '\ndata: 2\r', '\n')).toBe(0);
  expect(count('data: 1\r', '\n', '\r', '\n')).toBe(1);
});

test('line ends may be mixed', () => {
  expect(count('data: 1\n\r\n', 'data: 2\r\n\n', 'data: 3\r\r', 'data: 4\r\n\r')).toBe(4);
});

test('however the bytes are cut, the count is the same', () => {
  const line = fc.constantFrom('data: x', 'event: y', ': note', '', '', 'ü');
  const text = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n'))).map((lines) => lines.flat().join(''));
  fc.assert(
    fc.property(text, fc.array(fc.nat({ max: 9 })), (whole, cuts) => {
      const bytes = Buffer.from(whole);
      const chunks: Uint8Array[] = [];
      let from = 0;
      for (const size of cuts) {
        chunks.push(bytes.subarray(from, from + size));
        from += size;
      }
      expect(count(...chunks, bytes.subarray(from))).toBe(count(bytes));
    }),
  );
});

test('as many events by one search as byte by byte', () => {
  const line = fc.constantFrom('data: x', ': note', '', '');
  const text = fc.array(line).map((lines) => lines.map((each) => `${each}\n`).join(''));
  const tail = fc.constantFrom('', 'data: y', '\n');
  fc.assert(
    fc.property(text, tail, (whole, rest) => {
      // A CR at the very start ends a blank line, and has all bytes behind it read one by one.
      expect(count(whole + rest)).toBe(count(`\r${whole}${rest}`));
    }),
  );
});
