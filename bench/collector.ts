/** A client of a node's own API with all permissions. Like the API server, it keeps its connections open. */
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { join } from "node:path";
import type { World } from "./world.ts";

const PORT = 10_250;

export interface Answer {
  readonly tookMs: number;
  readonly body: Buffer;
}

export class Collector implements Disposable {
  readonly #host: string;
  readonly #connections: Agent;

  private constructor(host: string, connections: Agent) {
    this.#host = host;
    this.#connections = connections;
  }

  /** Keeps connections alive and opens as many as run concurrently, so that TLS handshakes are not measured. */
  static async of({ cluster, node }: World): Promise<Collector> {
    const file = (end: string) => readFile(join(cluster.layout.certificates, `apiserver-kubelet-client.${end}`));
    const [cert, key] = [await file("crt"), await file("key")];
    return new Collector(node.address, new Agent({ keepAlive: true, rejectUnauthorized: false, cert, key }));
  }

  /** Rejects on any status but 200. */
  ask(path: string, method = "GET"): Promise<Answer> {
    const sinceMs = performance.now();
    return new Promise((resolve, reject) => {
      const call = request({ host: this.#host, port: PORT, path, method, agent: this.#connections }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const body = Buffer.concat(chunks);
          if (response.statusCode === 200) resolve({ tookMs: performance.now() - sinceMs, body });
          else reject(new Error(`${path}: ${response.statusCode} ${body.toString().slice(0, 200)}`));
        });
      });
      call.on("error", reject);
      call.end();
    });
  }

  [Symbol.dispose](): void {
    this.#connections.destroy();
  }
}
