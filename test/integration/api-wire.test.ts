/** The API wire's own suite: identities, load, a network that misbehaves, a server that dies. All on the real kube-apiserver. */
import { after, before, suite } from "node:test";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { faultCases } from "./api-wire/faults.ts";
import { identityCases } from "./api-wire/identity.ts";
import { leakCases } from "./api-wire/leaks.ts";
import { loadCases } from "./api-wire/load.ts";
import { retryCases } from "./api-wire/retries.ts";
import { serverDeathCases } from "./api-wire/server-death.ts";

let started: Cluster | undefined;
const cluster = (): Cluster => {
  if (started === undefined) throw new Error("the cluster is not up");
  return started;
};

before(async () => {
  started = await startCluster({ controlPlane: "api", nodes: [] });
});
after(() => started?.down());

void suite("identity", () => identityCases(cluster));
void suite("load", () => loadCases(cluster));
void suite("faults", { concurrency: true }, () => faultCases(cluster));
void suite("retries", { concurrency: true }, () => retryCases(cluster));
void suite("leaks", () => leakCases(cluster));
void suite("server death", () => serverDeathCases(cluster));
