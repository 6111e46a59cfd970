/** Sends requests to the API server of a test's cluster, as its administrator, without Deckhand's own client. */
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import type { Cluster } from "../cluster/cluster.ts";

export interface RawAnswer {
  readonly status: number;
  readonly body: unknown;
}

export async function rawApi(
  cluster: Cluster,
): Promise<(method: string, path: string, body?: unknown) => Promise<RawAnswer>> {
  const { url, caFile, adminCertFile, adminKeyFile } = cluster.api;
  const [ca, cert, key] = await Promise.all([caFile, adminCertFile, adminKeyFile].map((file) => readFile(file)));
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = { accept: "application/json", "content-type": "application/json" };
      const sent = request(new URL(path, url), { method, ca, cert, key, headers, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) as unknown });
        });
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
}
