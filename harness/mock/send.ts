/**
 * Carries out a script: head, chunks and trailers of the mock LLM's answer, at the script's pace, up to where it breaks
 * off. What the bytes say is left to answers.ts.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { defer } from '../deferred.ts';
import { answerFor } from './answers.ts';
import type { MockCall } from './calls.ts';
import type { BreakPoint, MockScript } from './script.ts';

/** Thrown inside an answer where it ends early, by script or because the peer left. */
export class BrokenOff extends Error {}

/** An answer to be sent; `onBreak` is told before the script destroys the connection. */
export type Sending = {
  readonly call: MockCall;
  readonly script: MockScript;
  readonly response: ServerResponse;
  readonly onBreak: () => void;
};

/** Sends it; throws BrokenOff where it ends early. */
export async function sendAnswer(sending: Sending): Promise<void> {
  const { call, script, response } = sending;
  const { contentType, chunks } = encode(bodyOf(call, script), call, script);
  if (script.delayMs > 0) await delay(script.delayMs);
  await step(sending, 'head');
  response.statusCode = script.status;
  for (const [name, value] of headOf({ call, script, contentType, chunks })) response.appendHeader(name, value);
  if (script.framing === 'close') {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.flushHeaders();
  for (const [index, chunk] of chunks.entries()) {
    if (index > 0 && script.gapMs > 0) await delay(script.gapMs);
    await step(sending, index);
    await write(response, chunk);
    call.sent.push(chunk);
  }
  await step(sending, chunks.length);
  for (const [name, value] of script.trailers) response.addTrailers([[name, value]]);
  response.end();
}

/** The place before the head or before a chunk: here the test sets the pace, and the script breaks off or hangs. */
async function step({ script, response, onBreak }: Sending, at: BreakPoint): Promise<void> {
  await script.pace?.(at);
  if (script.reset === at) {
    onBreak();
    response.destroy();
  }
  if (script.hang === at && !response.destroyed) {
    await new Promise<void>((resolve) => response.once('close', () => resolve()));
  }
  if (response.destroyed) throw new BrokenOff();
}

/** Resolves when the system has taken the bytes, so that a reset after them does not take them back. */
async function write(response: ServerResponse, chunk: Buffer): Promise<void> {
  const { promise, resolve } = defer<void>();
  const go = (): void => resolve();
  response.once('close', go);
  response.write(chunk, go);
  await promise;
  response.off('close', go);
}

type Body = { readonly contentType: string | null; readonly chunks: readonly Buffer[] };

function bodyOf(call: MockCall, script: MockScript): Body {
  if (script.body === 'none') return { contentType: null, chunks: [] };
  if (script.body === 'echo') return { contentType: 'application/json', chunks: [echoOf(call)] };
  if (script.body === 'answer') return answerFor({ path: call.url, body: call.body, callId: call.id, script });
  return { contentType: null, chunks: script.body.map((part) => Buffer.from(part)) };
}

function encode(body: Body, call: MockCall, script: MockScript): Body {
  if (!acceptsGzip(call, script)) return body;
  return { contentType: body.contentType, chunks: [gzipSync(Buffer.concat(body.chunks))] };
}

function acceptsGzip(call: MockCall, script: MockScript): boolean {
  return script.gzip && /\bgzip\b/.test(String(call.headers['accept-encoding'] ?? ''));
}

function headOf(answer: Body & { call: MockCall; script: MockScript }): Array<readonly [string, string]> {
  const { call, script, contentType, chunks } = answer;
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const head: Array<readonly [string, string]> = [['x-mock-call', String(call.id)], ...script.headers];
  if (contentType !== null && !script.headers.some(([name]) => name.toLowerCase() === 'content-type')) {
    head.push(['content-type', contentType]);
  }
  if (acceptsGzip(call, script)) head.push(['content-encoding', 'gzip'], ['vary', 'accept-encoding']);
  if (script.framing === 'length') head.push(['content-length', String(length)]);
  if (script.trailers.length > 0) head.push(['trailer', script.trailers.map(([name]) => name).join(', ')]);
  return head;
}

function echoOf(call: MockCall): Buffer {
  const { method, url, rawHeaders, bodySha256, body } = call;
  return Buffer.from(JSON.stringify({ method, url, rawHeaders, bodySha256, bodyLength: body.length }));
}
