/** A world with one node that has an image and runs the real kubelet, and a user who creates pods there. */

import { kindOf } from "../../sim/fake-api-server/kinds.ts";
import { keptKubelet } from "../../sim/kubelet.ts";
import { plainPods } from "../../sim/plain-pods.ts";
import type { FaultPlan } from "../../sim/port-calls.ts";
import { World } from "../../sim/world.ts";
import type { Node } from "../../src/api/gen/core-v1.ts";
import { nodes } from "../../src/api/resources.ts";
import { keyOf } from "../integration/node-metrics/scrape.ts";
import { expositionText, readExposition } from "./exposition.ts";

export function oneNode(plan: FaultPlan = () => undefined, ...flags: readonly string[]) {
  const world = new World({ seed: 1, plan, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const { agent, newest } = keptKubelet(...flags);
  const start = () => node.start(agent);
  start();
  return {
    world,
    node,
    start,
    ...plainPods(world),
    ownNode: () => world.api.store.get(kindOf(nodes), "/n1") as unknown as Node | undefined,
    /** The samples of a metric, by their labels. */
    counted: (name: string) => {
      const samples = readExposition(expositionText(newest().metrics.registry.collect(), "text")).get(name)?.samples;
      return Object.fromEntries((samples ?? []).map(({ labels, value }) => [keyOf(labels), value]));
    },
  };
}
