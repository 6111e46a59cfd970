/**
 * A TCP proxy that injects network faults per direction: slow, cut after some bytes, split into pieces, or silent like
 * a half-open connection. It forwards bytes without interpreting them.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

type Fault =
  | { readonly kind: "pass" }
  /** Delays each chunk by this much. */
  | { readonly kind: "delay"; readonly delayMs: number }
  /** Splits data into writes of this many bytes. */
  | { readonly kind: "pieces"; readonly bytes: number }
  /** Forwards this many more bytes, then ends the connection in both directions. */
  | { readonly kind: "truncate"; readonly afterBytes: number; readonly by: "end" | "reset" }
  /** Forwards nothing, not even a close, until another fault is set. */
  | { readonly kind: "silent" };

export interface Faults {
  readonly toServer?: Fault;
  readonly toClient?: Fault;
}

const PASS: Fault = { kind: "pass" };

class Direction {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #cut: (by: "end" | "reset") => void;
  #fault: Fault = PASS;
  #leftBytes = 0;
  #turn: Promise<void> = Promise.resolve();
  #changed = Promise.withResolvers<void>();
  bytes = 0;

  constructor(from: Socket, to: Socket, cut: (by: "end" | "reset") => void) {
    this.#from = from;
    this.#to = to;
    this.#cut = cut;
    from.on("data", (chunk: Buffer) => {
      const arrivedMs = performance.now();
      this.#queue(() => this.#forward(chunk, arrivedMs));
    });
    from.on("end", () => this.#queue(() => this.#tell(() => to.end())));
    from.on("error", () => this.#queue(() => this.#tell(() => to.destroy())));
    from.on("close", () => this.#queue(() => this.#tell(() => to.destroySoon())));
  }

  set(fault: Fault): void {
    this.#fault = fault;
    if (fault.kind === "truncate") this.#leftBytes = fault.afterBytes;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  #queue(step: () => Promise<void>): void {
    this.#turn = this.#turn.then(step);
  }

  async #tell(news: () => void): Promise<void> {
    while (this.#fault.kind === "silent") await this.#changed.promise;
    news();
  }

  async #forward(chunk: Buffer, arrivedMs: number): Promise<void> {
    while (this.#fault.kind === "silent") await this.#changed.promise;
    const fault = this.#fault;
    if (fault.kind === "delay") await setTimeout(Math.max(arrivedMs + fault.delayMs - performance.now(), 0));
    if (fault.kind === "pieces") return this.#inPieces(chunk, fault.bytes);
    if (fault.kind !== "truncate") return this.#write(chunk);
    const part = chunk.subarray(0, this.#leftBytes);
    this.#leftBytes -= part.length;
    await this.#write(part);
    if (this.#leftBytes === 0) this.#cut(fault.by);
  }

  async #inPieces(chunk: Buffer, bytes: number): Promise<void> {
    for (let at = 0; at < chunk.length; at += bytes) {
      await this.#write(chunk.subarray(at, at + bytes));
      await setImmediate();
    }
  }

  #write(chunk: Buffer): Promise<void> {
    this.bytes += chunk.length;
    if (this.#to.destroyed || this.#to.writableEnded) return Promise.resolve();
    if (this.#to.write(chunk)) return Promise.resolve();
    this.#from.pause();
    return new Promise((resolve) => {
      const goOn = () => {
        this.#to.off("drain", goOn);
        this.#to.off("close", goOn);
        this.#from.resume();
        resolve();
      };
      this.#to.on("drain", goOn);
      this.#to.on("close", goOn);
    });
  }
}

export class ProxyConnection {
  readonly toServer: Direction;
  readonly toClient: Direction;
  readonly #client: Socket;
  readonly #server: Socket;

  constructor(client: Socket, server: Socket) {
    this.#client = client;
    this.#server = server;
    for (const socket of [client, server]) socket.setNoDelay(true);
    this.toServer = new Direction(client, server, (by) => this.cut(by));
    this.toClient = new Direction(server, client, (by) => this.cut(by));
  }

  set({ toServer = PASS, toClient = PASS }: Faults): void {
    this.toServer.set(toServer);
    this.toClient.set(toClient);
  }

  cut(by: "end" | "reset"): void {
    for (const socket of [this.#client, this.#server]) {
      if (by === "end") socket.destroySoon();
      else socket.resetAndDestroy();
    }
  }

  destroy(): void {
    this.set({}); // Releases steps that wait for the end of a silent fault.
    this.#client.destroy();
    this.#server.destroy();
  }
}

export class TcpProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #host: string;
  readonly #connections = new Set<ProxyConnection>();
  #server: Server | undefined;
  #port = 0;
  #faults: Faults = {};
  /** Number of connections accepted since the start. */
  accepted = 0;

  private constructor(target: { readonly host: string; readonly port: number }, host: string) {
    this.#target = target;
    this.#host = host;
  }

  static async start(targetUrl: string, host = "127.0.0.1"): Promise<TcpProxy> {
    const { hostname, port } = new URL(targetUrl);
    const proxy = new TcpProxy({ host: hostname, port: Number(port) }, host);
    await proxy.listen();
    return proxy;
  }

  get url(): string {
    return `https://${this.#host}:${this.#port}`;
  }

  get connections(): readonly ProxyConnection[] {
    return [...this.#connections];
  }

  /** Sets the faults of existing connections. */
  now(faults: Faults): void {
    for (const connection of this.#connections) connection.set(faults);
  }

  /** Sets the faults of future connections. */
  next(faults: Faults): void {
    this.#faults = faults;
  }

  cut(by: "end" | "reset"): void {
    for (const connection of this.#connections) connection.cut(by);
  }

  /** Refuses new connections; existing ones stay. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    // The callback of `close` also waits for the connections, which may stay.
    server?.close();
    await setImmediate();
  }

  /** Listens, on the same port as before. */
  async listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, this.#host, resolve);
    });
    const address = server.address();
    if (address !== null && typeof address === "object") this.#port = address.port;
  }

  async close(): Promise<void> {
    await this.refuse();
    for (const connection of this.#connections) connection.destroy();
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    const server = connect({ ...this.#target, allowHalfOpen: true });
    const connection = new ProxyConnection(client, server);
    connection.set(this.#faults);
    this.#connections.add(connection);
    let open = 2;
    for (const socket of [client, server]) {
      socket.once("close", () => {
        open -= 1;
        if (open === 0) this.#connections.delete(connection);
      });
    }
  }
}
