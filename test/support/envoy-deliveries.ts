/** Boarding and reading as Envoy does it: a ticket from decide, shown to deliver, and the answer that deliver streams. */
import { status } from '@grpc/grpc-js';
import { requestBody, requestHeaders } from './envoy-messages.ts';
import type { EnvoyPeer, PeerReply, PeerStream } from './envoy-peer.ts';
import { structValue } from './proto-codec.ts';

/** The ticket that decide gives an exchange with this prompt. */
export async function ticketFor(peer: EnvoyPeer, requestId: string, prompt: string): Promise<string> {
  const stream = peer.open('decide').send(requestHeaders(requestId));
  await stream.reply(0);
  const { dynamic_metadata } = await stream.send(requestBody(prompt)).reply(1);
  const { coalesce } = structValue(dynamic_metadata as Buffer) as { coalesce: { ticket?: string } };
  const code = await stream.ended;
  if (code !== status.OK || coalesce.ticket === undefined) throw new Error(`decide gave no ticket (${code})`);
  return coalesce.ticket;
}

/** Shows a ticket to deliver. */
export function present(stream: PeerStream, requestId: string, ticket: string): PeerStream {
  return stream.send(requestHeaders(requestId, { metadata: { ticket } }));
}

/** The answer's bytes in these replies. */
export function bodyOf(replies: readonly PeerReply[]): Buffer {
  return Buffer.concat(replies.map((reply) => bodyIn(reply['streamed_immediate_response'])));
}

function bodyIn(streamed: unknown): Buffer {
  const { body_response } = (streamed ?? {}) as { body_response?: { body?: Buffer } };
  return body_response?.body ?? Buffer.alloc(0);
}
