/** Clients of the real API server for the API wire suites, with any identity, and namespaces that admit pods. */
import { readFile } from "node:fs/promises";
import { namespaces, serviceAccounts } from "../../src/api/resources.ts";
import type { ApiServer } from "../../src/ports/api-server.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import { createKubeApi, type KubeApi, type KubeApiOptions } from "../../src/wire/kube-api/client.ts";
import type { Credentials } from "../../src/wire/kube-api/connection.ts";
import type { Cluster } from "../cluster/cluster.ts";

export type ClientOptions = Partial<Omit<KubeApiOptions, "connection" | "clock" | "random">> & {
  readonly url?: string;
  readonly ca?: string;
  readonly credentials?: Credentials;
};

/** By default without a rate limit that would slow down the tests. */
export async function clientOf(cluster: Cluster, options: ClientOptions = {}): Promise<KubeApi> {
  const { url, ca, credentials, ...rest } = options;
  return createKubeApi({
    requestsPerSecond: 10_000,
    burst: 10_000,
    ...rest,
    clock: hostClock,
    random: hostRandom,
    connection: {
      url: url ?? cluster.api.url,
      ca: ca ?? (await readFile(cluster.api.caFile, "utf8")),
      credentials: credentials ?? (await adminOf(cluster)),
    },
  });
}

const adminOf = (cluster: Cluster) => certificate(cluster.api.adminCertFile, cluster.api.adminKeyFile);

export async function identityOf(cluster: Cluster, user: string, groups: readonly string[]): Promise<Credentials> {
  const { certFile, keyFile } = await cluster.api.clientCertificate(user, groups);
  return certificate(certFile, keyFile);
}

async function certificate(certFile: string, keyFile: string): Promise<Credentials> {
  const [certificatePem, keyPem] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
  return { kind: "certificate", certificatePem, keyPem };
}

const forever = new AbortController().signal;

/** No controller creates the default ServiceAccount here, and without it no pod is admitted. */
export async function newNamespace(api: ApiServer): Promise<string> {
  const { metadata } = await api.create(namespaces, { metadata: { generateName: "t-" } }, forever);
  const namespace = metadata?.name ?? "";
  await api.create(serviceAccounts, { metadata: { namespace, name: "default" } }, forever);
  return namespace;
}
