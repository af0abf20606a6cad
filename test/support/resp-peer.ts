/**
 * A server that knows as much of Redis's protocol as is needed to fail in ways that no Redis fails in on demand: it answers
 * some commands, and never others. What a Redis does is tested with a Redis.
 */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export type RespPeer = {
  readonly port: number;
  /** How many are open. */
  connections(): number;
  /** Ends its connections and takes no more. */
  end(): Promise<void>;
};

/** What is answered to a command: a reply as it stands on the wire, or nothing, ever. */
export type RespAnswer = (command: readonly string[]) => string | null;

/** `isDeaf`: asked of each new connection; on such a one nothing is answered. */
export async function startRespPeer(answer: RespAnswer, isDeaf: () => boolean = () => false): Promise<RespPeer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.resume();
    if (!isDeaf()) serve(socket, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    end: () => end(server, sockets),
  };
}

export const OK = '+OK\r\n';

export function bulk(text: string | number): string {
  return `$${String(text).length}\r\n${text}\r\n`;
}

export function list(...replies: readonly string[]): string {
  return `*${replies.length}\r\n${replies.join('')}`;
}

export function integer(number: number): string {
  return `:${number}\r\n`;
}

function serve(socket: Socket, answer: RespAnswer): void {
  let unread = '';
  socket.on('data', (chunk) => {
    unread += chunk.toString('latin1');
    for (let taken = takeCommand(unread); taken !== null; taken = takeCommand(unread)) {
      unread = taken.rest;
      const reply = answer(taken.command);
      if (reply !== null) socket.write(reply);
    }
  });
}

/** A whole command from the beginning: an array of bulk strings. */
function takeCommand(text: string): { command: string[]; rest: string } | null {
  const [whole = '', count] = /^\*(\d+)\r\n/.exec(text) ?? [];
  if (count === undefined) return null;
  const command: string[] = [];
  let rest = text.slice(whole.length);
  while (command.length < Number(count)) {
    const [start = '', length] = /^\$(\d+)\r\n/.exec(rest) ?? [];
    if (length === undefined || rest.length < start.length + Number(length) + 2) return null;
    command.push(rest.slice(start.length, start.length + Number(length)));
    rest = rest.slice(start.length + Number(length) + 2);
  }
  return { command, rest };
}

async function end(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of sockets) socket.destroy();
  await closed;
}
