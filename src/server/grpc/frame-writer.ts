/**
 * Writes replies that come in their gRPC frame to the HTTP/2 stream as they are. grpc-js would copy each into a frame of its
 * own, which for a thousand followers of one answer is a thousand copies of it. Everything else of a call stays grpc-js's.
 */

import {
  Metadata,
  status,
  type ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';

type WriteDone = (error?: Error | null) => void;

/** What is used of node's `ServerHttp2Stream`. */
interface Http2Stream {
  readonly write: (bytes: Buffer, done: WriteDone) => boolean;
  readonly destroyed: boolean;
  readonly closed: boolean;
}

/** For the calls of one method, by its path. Where grpc-js hides its stream elsewhere, they are served by its own copying. */
export function frameWriter(path: string): ServerInterceptor {
  return (method, given) => {
    // What grpc-js asks an interceptor for is the class; what it takes is its interface, and its own is not of that class.
    const call = given as ServerInterceptingCall;
    const stream = method.path === path ? streamOf(call) : null;
    if (stream === null) return call;
    const copying = call.sendMessage.bind(call);
    let begun = false;
    call.sendMessage = (frame: Buffer, callback) => {
      // grpc-js tells the call that it was cancelled, where it finds that its stream is gone.
      if (stream.destroyed || stream.closed) return copying(frame, callback);
      if (!begun) call.sendMetadata(new Metadata());
      begun = true;
      stream.write(frame, (error) => {
        if (error) call.sendStatus({ code: status.INTERNAL, details: 'Internal server error' });
        else callback();
      });
    };
    return call;
  };
}

/** `BaseServerInterceptingCall` has it, privately. */
function streamOf(call: ServerInterceptingCallInterface): Http2Stream | null {
  const stream: unknown = Reflect.get(call, 'stream');
  return isHttp2Stream(stream) ? stream : null;
}

function isHttp2Stream(value: unknown): value is Http2Stream {
  return (
    typeof value === 'object' && value !== null && 'sentHeaders' in value && 'write' in value && 'destroyed' in value
  );
}
