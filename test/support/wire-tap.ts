/** A wire to a Redis that a test can stall, as a network or a stopped process would, and cut. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type Wire = {
  /** `redis://127.0.0.1:PORT` of this end. */
  readonly url: string;
  /** From now on nothing passes; connections stay. */
  stall(): void;
  /** What waited passes. */
  flow(): void;
  /** Ends all connections and takes no more. */
  cut(): void;
};

export async function wireTo(port: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let isStalled = false;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      // An end is the end of both.
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('error', () => to.destroy());
      if (isStalled) from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    flow: () => {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    cut,
  };
}
