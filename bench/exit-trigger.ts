/**
 * Makes a container exit at a known moment and reports when its next run has started. The container's only process
 * connects to this server and exits when we close the connection. No volume is needed, and nothing in the container
 * polls.
 */
import { createServer, type Server, type Socket } from "node:net";

export interface TriggeredContainer {
  readonly connectedMs: number;
  /** Makes the container's process exit; returns when we closed the connection. */
  triggerExit(): number;
}

export class ExitTrigger {
  readonly #server: Server;
  readonly #address: string;
  readonly #connected: TriggeredContainer[] = [];
  readonly #sockets = new Set<Socket>();
  #waiting: ((container: TriggeredContainer) => void) | undefined;

  private constructor(server: Server, address: string) {
    this.#server = server;
    this.#address = address;
    server.on("connection", (socket) => this.#onConnection(socket));
  }

  static async open(address: string): Promise<ExitTrigger> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, address, resolve);
    });
    return new ExitTrigger(server, address);
  }

  /** The command of a container that connects to this server. */
  get command(): readonly string[] {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the server is closed");
    // nc also exits when its stdin ends, so its stdin is a FIFO that it holds open itself.
    return ["sh", "-c", `mkfifo /tmp/open && exec nc ${this.#address} ${address.port} <>/tmp/open`];
  }

  /** Call this for one container at a time: nothing distinguishes the connections. */
  next(limitMs = 60_000): Promise<TriggeredContainer> {
    const early = this.#connected.shift();
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        this.#waiting = undefined;
        reject(new Error(`no container connected within ${limitMs} ms`));
      }, limitMs);
      this.#waiting = (container) => {
        clearTimeout(limit);
        this.#waiting = undefined;
        resolve(container);
      };
    });
  }

  /** Closes all connections and discards those that nobody waited for. */
  clear(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#connected.length = 0;
  }

  async close(): Promise<void> {
    this.clear();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #onConnection(socket: Socket): void {
    const connectedMs = performance.now();
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy()); // Killing the container resets the connection.
    socket.on("close", () => this.#sockets.delete(socket));
    socket.resume();
    const container: TriggeredContainer = {
      connectedMs,
      triggerExit: () => {
        const atMs = performance.now();
        socket.end();
        return atMs;
      },
    };
    if (this.#waiting === undefined) this.#connected.push(container);
    else this.#waiting(container);
  }
}
