/** The API client's suites on a real kube-apiserver: identities, load, network faults, and a server that dies. */
import { after, before, suite } from "node:test";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { chaosCases } from "./api-wire/chaos.ts";
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

/** Bounds every case, so that none waits forever. */
const timeout = 400_000;
void suite("identity", { timeout }, () => identityCases(cluster));
void suite("load", { timeout }, () => loadCases(cluster));
void suite("faults", { timeout, concurrency: true }, () => faultCases(cluster));
void suite("retries", { timeout, concurrency: true }, () => retryCases(cluster));
void suite("chaos", { timeout }, () => chaosCases(cluster));
void suite("leaks", { timeout }, () => leakCases(cluster));
void suite("server death", { timeout }, () => serverDeathCases(cluster));
