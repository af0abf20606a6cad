/**
 * The wire between Envoy and the exchange machine: what Envoy says, and what is said to it, as plain data. This room is the
 * only place that knows the ext_proc proto (`proto/envoy/service/ext_proc/v3`); what a message means is the machine's.
 */

export { decodeMessage } from './wire/envoy-message.ts';
export type { EnvoyMessage } from './wire/envoy-message.ts';
export type { LazyStructs } from './wire/protobuf/lazy-structs.ts';
export { messageIn } from './wire/protobuf/proto-writer.ts';
export { encodeReply } from './wire/reply.ts';
export { joinBody } from './wire/streamed-body.ts';
export type { ModeOverride } from './wire/mode-override.ts';
export type { Metadata } from './wire/protobuf/dynamic-metadata.ts';
export type { Reply } from './wire/reply.ts';
