/** Scrapes a node's metrics, and computes the difference between two scrapes. */
import { readFileSync } from "node:fs";
import { request } from "node:https";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { type ReadFamily, readExposition } from "../../support/exposition.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends a request to the node itself with the cluster's admin certificate. */
export function ask(
  cluster: Cluster,
  node: ClusterNode,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const asked = request(
    {
      host: node.address,
      port: 10250,
      path,
      headers,
      agent: false,
      // The kubelet's certificate is self-signed.
      rejectUnauthorized: false,
      cert: readFileSync(cluster.api.adminCertFile),
      key: readFileSync(cluster.api.adminKeyFile),
      timeout: 30_000,
    },
    (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    },
  );
  asked.on("error", reject);
  asked.on("timeout", () => asked.destroy(new Error(`${path} was not answered`)));
  asked.end();
  return promise;
}

export type Scrape = ReadonlyMap<string, ReadFamily>;

export async function scrape(cluster: Cluster, node: ClusterNode, path = "/metrics"): Promise<Scrape> {
  const { status, body } = await ask(cluster, node, path);
  if (status !== 200) throw new Error(`${path} of ${node.name} answers ${status}: ${body.toString()}`);
  return readExposition(body.toString());
}

/** By the labels of each series: the value, or for histograms the number of observations. */
export function figuresOf(family: ReadFamily | undefined): ReadonlyMap<string, number> {
  const isCounted = ({ name }: { readonly name: string }) => family?.kind !== "histogram" || name.endsWith("_count");
  const samples = (family?.samples ?? []).filter(isCounted);
  return new Map(samples.map(({ labels, value }) => [keyOf(labels), value]));
}

export const keyOf = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

/** The increase of each series; unchanged series are left out. */
export function growth(name: string, before: Scrape, after: Scrape): Readonly<Record<string, number>> {
  const [old, now] = [figuresOf(before.get(name)), figuresOf(after.get(name))];
  const grown = [...now].map(([key, value]) => [key, value - (old.get(key) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, by]) => by !== 0));
}

/** The label names of a family, without a bucket's bound. */
export function labelNames({ samples }: ReadFamily): readonly string[] {
  return [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))].filter((name) => name !== "le").toSorted();
}
