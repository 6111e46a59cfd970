/** Helpers shared by the cluster harness's own tests and its proof. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../cluster/cache.ts";
import { cgroupsLeft } from "../cluster/cgroups.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { layoutOf } from "../cluster/layout.ts";
import { takenSlots } from "../cluster/slots.ts";

export const CLI = join(import.meta.dirname, "..", "cluster", "cli.ts");

export async function runPod(cluster: Cluster, name: string, image: string, ...args: readonly string[]): Promise<void> {
  await cluster.kubectl("run", name, `--image=${image}`, "--command", "--", ...args);
  await cluster.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s");
}

/** The smallest cluster: namespaces and a link. */
export const bare = (name?: string): Promise<Cluster> =>
  startCluster({ ...(name === undefined ? {} : { name }), controlPlane: "none", nodes: [] });

export const slotsOf = async (name: string) => (await takenSlots()).filter((taken) => taken.name === name);

/** What is left of a cluster after `down`, which itself checks for more. */
export async function leftOf(name: string): Promise<readonly string[]> {
  const { directory, cgroupParent } = layoutOf(name, 0);
  const slots = (await slotsOf(name)).map(({ slot }) => `slot ${slot}`);
  return [...slots, ...((await exists(directory)) ? [directory] : []), ...(await cgroupsLeft(cgroupParent))];
}

export async function assertNothingIsLeft(name: string): Promise<void> {
  assert.deepEqual(await leftOf(name), []);
}
