/**
 * Proxies the harness's registry and slows down the blobs of one repository: each takes a given time from its first
 * byte to its last, however small it is. Everything else passes without delay.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { pause } from "../test/cluster/wait.ts";
import type { World } from "./world.ts";

const PIECES = 50;

export class SlowRegistry {
  readonly #server: Server;
  readonly #host: string;
  readonly #began = Promise.withResolvers<void>();

  private constructor(server: Server, host: string) {
    this.#server = server;
    this.#host = host;
  }

  /** Configures the node's containerd for the registry's address. */
  static async open({ cluster, node }: World, slow: { readonly repository: string; readonly blobMs: number }) {
    const { machineAddress } = cluster.layout;
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, machineAddress, resolve);
    });
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("a server has a port");
    const host = `${machineAddress}:${address.port}`;
    const directory = join(node.directory, "certs.d", host);
    await mkdir(directory, { recursive: true });
    const entry = `[host."http://${host}"]\n  capabilities = ["pull", "resolve"]\n`;
    await writeFile(join(directory, "hosts.toml"), `server = "http://${host}"\n\n${entry}`);
    const registry = new SlowRegistry(server, host);
    const blobs = `/v2/${slow.repository}/blobs/`;
    server.on("request", (incoming: IncomingMessage, answer: ServerResponse) => {
      const isSlow = incoming.method === "GET" && incoming.url?.startsWith(blobs) === true;
      if (isSlow) registry.#began.resolve();
      pass(cluster.registry.open, incoming, answer, isSlow ? slow.blobMs : 0).catch((error: Error) =>
        answer.destroy(error),
      );
    });
    return registry;
  }

  /** The full name of an image of a repository. */
  image(repository: string): string {
    return `${this.#host}/${repository}:1`;
  }

  /** Resolves when a client has requested a slow blob. */
  get began(): Promise<void> {
    return this.#began.promise;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

async function pass(
  registry: string,
  incoming: IncomingMessage,
  answer: ServerResponse,
  lastsMs: number,
): Promise<void> {
  const { method, url, headers } = incoming;
  const given = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`http://${registry}${url}`, { method, headers, agent: false }, resolve).once("error", reject).end();
  });
  const pieces: Buffer[] = [];
  for await (const piece of given) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  answer.writeHead(given.statusCode ?? 502, given.headers);
  if (lastsMs > 0) await slowly(body, answer, lastsMs);
  else answer.end(body);
}

async function slowly(body: Buffer, answer: ServerResponse, lastsMs: number): Promise<void> {
  const bytes = Math.ceil(body.length / PIECES);
  for (let at = 0; at < body.length && !answer.destroyed; at += bytes) {
    await pause((lastsMs * bytes) / body.length);
    answer.write(body.subarray(at, at + bytes));
  }
  answer.end();
}
