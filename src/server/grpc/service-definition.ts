/**
 * The gRPC services as grpc-js wants them: method paths, and what turns messages into bytes. Owns where the proto files lie;
 * the ext_proc messages are read and written by `extproc/wire.ts`, the rest by proto-loader from those files.
 */
import { fileURLToPath } from 'node:url';

import type {
  MethodDefinition,
  ServiceDefinition,
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

import { decodeMessage, messageIn, type EnvoyMessage } from '../../extproc/wire.ts';

/** What a server gives for `envoy.service.ext_proc.v3.ExternalProcessor`: it reads messages and writes encoded replies. */
export type ExternalProcessorHandlers = {
  readonly Process: handleBidiStreamingCall<EnvoyMessage, Buffer>;
};

/** What a server gives for `grpc.health.v1.Health`. */
export type HealthHandlers = {
  readonly Check: handleUnaryCall<HealthRequest, HealthResponse>;
  readonly Watch: handleServerStreamingCall<HealthRequest, HealthResponse>;
};

export interface HealthRequest {
  /** The full name of a gRPC service; '' stands for the whole server. */
  readonly service: string;
}

export interface HealthResponse {
  readonly status: 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
}

/**
 * The ext_proc service. Its server side hands out `EnvoyMessage`s, `malformed` ones too, and takes what `encodeReply` made, as
 * it is. Its client side (a peer that plays Envoy) speaks proto-loader's objects, fields named as in the proto.
 */
export function externalProcessorService(): ServiceDefinition<ExternalProcessorHandlers> {
  const file = 'envoy/service/ext_proc/v3/external_processor.proto';
  const method = loadMethods(file, 'envoy.service.ext_proc.v3.ExternalProcessor');
  return {
    Process: {
      ...method('Process'),
      requestDeserialize: (bytes: Buffer): EnvoyMessage => decodeMessage(bytes),
      responseSerialize: (frame: Buffer): Buffer => messageIn(frame),
    },
  };
}

/** The health service, as plain objects on both sides. */
export function healthService(): ServiceDefinition<HealthHandlers> {
  const method = loadMethods('grpc/health/v1/health.proto', 'grpc.health.v1.Health');
  return { Check: method('Check'), Watch: method('Watch') };
}

/** The package's `proto` folder: beside `src` as beside `dist`. */
const PROTO_FOLDER = '../../../proto';

/** The methods of a service in one of our own files, by name; throws where the file lacks what this code asks for. */
function loadMethods(file: string, service: string): (name: string) => MethodDefinition<object, object> {
  const includeDirs = [fileURLToPath(new URL(PROTO_FOLDER, import.meta.url))];
  const definitions = loadSync(file, { includeDirs, keepCase: true, longs: Number, enums: String, defaults: true });
  const definition = definitions[service];
  return (name) => {
    const method = definition !== undefined && !('format' in definition) ? definition[name] : undefined;
    if (method === undefined) throw new Error(`${file} has no method ${service}.${name}`);
    return method;
  };
}
