/**
 * The ext_proc messages as proto-loader reads and writes them from our proto files: the yardstick for the project's own codec,
 * and what a test that plays Envoy speaks. Fields are named as in the proto.
 */
import { fileURLToPath } from 'node:url';

import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import structProto from 'google-protobuf/google/protobuf/struct_pb.js';
import type { JavaScriptValue } from 'google-protobuf/google/protobuf/struct_pb.js';

export interface ProtoCodec {
  readonly encodeRequest: (request: object) => Buffer;
  readonly decodeResponse: (bytes: Buffer) => object;
}

const PROTO_FOLDER: string = fileURLToPath(new URL('../../proto', import.meta.url));

/** Fields that are absent stay absent in what is decoded; 64-bit numbers are numbers, enums their names. */
export function protoCodec(folder: string = PROTO_FOLDER): ProtoCodec {
  const definitions = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
    includeDirs: [folder],
    keepCase: true,
    longs: Number,
    enums: String,
  });
  const message = (name: string): MessageTypeDefinition<object, object> => {
    const definition = definitions[`envoy.service.ext_proc.v3.${name}`];
    if (definition === undefined || !('serialize' in definition)) throw new Error(`the proto has no message ${name}`);
    return definition as MessageTypeDefinition<object, object>;
  };
  return {
    encodeRequest: message('ProcessingRequest').serialize,
    decodeResponse: message('ProcessingResponse').deserialize,
  };
}

/** A HeaderMap with these fields, as proto-loader has it. */
export function headerMap(fields: readonly (readonly [string, string])[]): object {
  return { headers: fields.map(([key, value]) => ({ key, raw_value: Buffer.from(value, 'latin1') })) };
}

/** An encoded `google.protobuf.Struct`. */
export function structBytes(value: Record<string, JavaScriptValue>): Buffer {
  return Buffer.from(structProto.Struct.fromJavaScript(value).serializeBinary());
}

/** The value of an encoded `google.protobuf.Struct`. */
export function structValue(bytes: Uint8Array): unknown {
  return structProto.Struct.deserializeBinary(bytes).toJavaScript();
}
