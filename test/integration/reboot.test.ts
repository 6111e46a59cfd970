/** The machine of a node reboots: its pods recover under Deckhand as under the Go kubelet. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { deckhandTest, NODES, nameOn, SIDES } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, hasEndedWhole, isRunning, podOn, SLEEPER, sh } from "../support/cluster-pods.ts";
import { neutralStatus } from "../support/normal-form.ts";
import { reboot } from "../support/reboot.ts";
import { settled } from "../support/settled.ts";

const recording = Recording.open("reboot");

/** Long enough under the load of a whole test run. */
const SOON_MS = 180_000;

const SPECS = {
  web: {
    initContainers: [sh("true", "one"), { ...SLEEPER, name: "proxy", restartPolicy: "Always" }],
    containers: [{ ...SLEEPER, volumeMounts: [{ name: "memory", mountPath: "/memory" }] }],
    volumes: [{ name: "memory", emptyDir: { medium: "Memory" } }],
  },
  once: { containers: [sh("sleep 1000")], restartPolicy: "Never" },
} as const;

let both: BothAgents;
let pods: ClusterPods;
const earlier = new Map<string, Pod>();

const latest = (name: string): Pod => pods.latest(name) ?? assert.fail(`${name} is there`);
const countsOf = ({ status }: Pod) =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(({ name, restartCount }) => [
    name,
    restartCount,
  ]);

before(async () => {
  both = await BothAgents.start({}, { criProxy: false });
  const { cluster } = both;
  ({ pods } = both);
  const all = SIDES.flatMap((side) =>
    Object.entries(SPECS).map(([name, spec]) => ({ side, own: nameOn(side, name), spec })),
  );
  for (const { side, own, spec } of all) await pods.create(podOn(NODES[side], own, spec));
  for (const { own } of all) earlier.set(own, await pods.running(own));
  await Promise.all(cluster.nodes.map((node) => reboot(cluster, node)));
});

after(() => both.end());

void suite("a reboot of the machine", () => {
  test("[7.3] a pod keeps its UID, gets a new sandbox and address, reruns its init container, and its restart counts increase", async () => {
    for (const side of SIDES) {
      const name = nameOn(side, "web");
      const old = earlier.get(name) ?? assert.fail(name);
      const isBack = (pod: Pod) => isRunning(pod) && countsOf(pod).every(([, count]) => count === 1);
      const back = await pods.first(name, "runs again", isBack, SOON_MS);
      assert.equal(back.metadata?.uid, old.metadata?.uid, side);
      assert.notEqual(back.status?.podIP, old.status?.podIP, side);
      assert.deepEqual(
        countsOf(back),
        [
          ["one", 1],
          ["proxy", 1],
          ["main", 1],
        ],
        side,
      );
    }
    await recording.check("web status", (side) =>
      settled(recording, "web status", () => neutralStatus(latest(nameOn(side, "web")))),
    );
  });

  test("[7.3] a pod with restartPolicy Never fails", async () => {
    await recording.check("once status", async (side) => {
      const name = nameOn(side, "once");
      const pod = await pods.first(name, "has failed", hasEndedWhole, SOON_MS);
      // The Go kubelet loses the address when its process ends; Deckhand keeps it published.
      if (side === "deckhand") assert.equal(pod.status?.podIP, earlier.get(name)?.status?.podIP);
      const { podIP: _, podIPs: __, ...status } = pod.status ?? {};
      return neutralStatus({ ...pod, status });
    });
  });

  deckhandTest("every answer was compared with the recording", () => {
    figure("values compared", recording.compared, "values");
    assert.ok(recording.compared > 0);
  });
});
