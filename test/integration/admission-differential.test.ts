/**
 * Compares Deckhand with the Go kubelet on the same pods: users, privileges, namespaces shared with the node, and pods
 * that a node rejects. Statuses, events, what a container sees and the requests to the runtime must be the same.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Cluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { selected } from "../golden/selected-cases.ts";
import { deckhandTest, NODES, SIDES } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { isRunning, podOn, SLEEPER, sh } from "../support/cluster-pods.ts";
import { IDENTITY_CASES, pullsForOthers } from "./admission-differential/cases/identity.ts";
import { bindWithoutClass, CLASS_CASES, makeClass, SYSCTL_CASES } from "./admission-differential/cases/kernel.ts";
import { PRESSURE_CASES, ROOM_CASES, takesRoom, WITHOUT_FEATURES_CASES } from "./admission-differential/cases/room.ts";
import { makeObjects, prepareNodes } from "./admission-differential/objects.ts";
import { pushedOut } from "./admission-differential/pushed-out.ts";
import { type Case, type World, worldOf } from "./ordinary-differential/case.ts";
import { rewriteOfGo } from "./ordinary-differential/differences.ts";
import { CaseRuns } from "./ordinary-differential/run.ts";

const FIRST_CASES: readonly Case[] = [...IDENTITY_CASES, ...SYSCTL_CASES, ...CLASS_CASES];
const CASES: readonly Case[] = [...FIRST_CASES, ...ROOM_CASES, ...WITHOUT_FEATURES_CASES, ...PRESSURE_CASES];

const AT_FIRST = { configuration: { allowedUnsafeSysctls: ["kernel.msg*"] } };
const LATER = {
  configuration: {
    featureGates: {
      PodLevelResources: false,
      // Depends on PodLevelResources.
      InPlacePodLevelResourcesVerticalScaling: false,
      RestartAllContainersOnContainerExits: false,
    },
  },
};

/** A threshold above the available memory of any machine. */
const SHORT_OF_MEMORY = { configuration: { evictionHard: { "memory.available": "99%" } } };

let both: BothAgents;
let cluster: Cluster;
let world: World;
const recording = Recording.open("admission-differential", { rewrite: rewriteOfGo });
const runs = new CaseRuns(recording);

before(async () => {
  both = await BothAgents.start(AT_FIRST);
  ({ cluster } = both);
  world = worldOf(both);
  await prepareNodes(world);
  await makeObjects(world);
  const steps = [
    FIRST_CASES.filter(pullsForOthers),
    FIRST_CASES.filter((one) => !pullsForOthers(one)),
    ROOM_CASES.filter((one) => !takesRoom(one)),
    ROOM_CASES.filter(takesRoom),
  ];
  for (const step of steps) await runs.run(world, step);
  if (selected(WITHOUT_FEATURES_CASES).length === 0) return;
  await Promise.all(SIDES.map((side) => cluster.changeAgent(NODES[side], side, LATER)));
  await runs.run(world, WITHOUT_FEATURES_CASES);
});

after(async () => {
  await both.end();
});

const alike = (row: string) => runs.alike(row);

void suite("pods with security, resource and placement settings under both agents", () => {
  test("[25.2] runAsNonRoot keeps root containers waiting, with the Go kubelet's reason and message", async () => {
    await alike("25.2");
  });

  test("[25.1] users and groups come from pod, container, image and volumes as under the Go kubelet", async () => {
    await alike("25.1");
  });

  test("[25.3][25.4] privilege flags, capabilities and masked and read-only paths equal the Go kubelet's", async () => {
    for (const row of ["25.3", "25.4"]) await alike(row);
  });

  test("[25.5][27.1.32] seccomp profiles are RuntimeDefault, Localhost or Unconfined, as under the Go kubelet", async () => {
    for (const row of ["25.5", "27.1.32"]) await alike(row);
  });

  test("[5.9][25.6] pods with AppArmor, strict supplemental groups or pod-level resources are rejected where unsupported", async () => {
    for (const row of ["5.9", "25.6"]) await alike(row);
  });

  test("[25.7][27.1.15] user namespaces apply to processes, mounts and files, or the pod reports why they cannot", async () => {
    for (const row of ["25.7", "27.1.15"]) await alike(row);
  });

  test("[7.29] a container over its memory limit is OOM-killed, and its status says so", async () => {
    await alike("7.29");
  });

  test("[25.11] host ports are mapped as under the Go kubelet, and no host port is assigned twice", async () => {
    await alike("25.11");
  });

  test("[5.7][7.1][25.9] safe and allowed sysctls are set in the pod; any other sysctl rejects the pod", async () => {
    for (const row of ["5.7", "25.9"]) await alike(row);
  });

  test("[7.1][25.8] RuntimeClass handler and overhead apply, and a missing RuntimeClass is reported as by the Go kubelet", async () => {
    for (const row of ["7.1", "25.8"]) await alike(row);
  });

  test("[5.1][5.2] pods that do not fit are rejected with the Go kubelet's resource amounts", async () => {
    for (const row of ["5.1", "5.2"]) await alike(row);
  });

  test("[5.3][5.4] pods that select another node or another OS are rejected with the Go kubelet's message", async () => {
    for (const row of ["5.3", "5.4"]) await alike(row);
  });

  test("[5.10] pods that need a feature the Node does not declare are rejected with the Go kubelet's message", async () => {
    await alike("5.10");
  });

  deckhandTest("every case belongs to a row", () => {
    assert.ok(CASES.every(({ rows }) => rows.length > 0));
    assert.equal(new Set(CASES.map(({ name }) => name)).size, CASES.length);
    figure("pods compared", CASES.length, "pods");
    figure("fields compared", recording.compared, "fields");
  });
});

void suite("pods that are in each other's way, or in the node's", () => pushedOut(() => world, recording));

void suite("pods of a RuntimeClass under Deckhand alone", () => {
  deckhandTest(
    "[25.8] a pod starts within 9 s of the creation of its missing RuntimeClass, without waiting for a retry",
    async () => {
      const { pods } = world;
      const { node } = world.place("deckhand");
      await bindWithoutClass(world, podOn(node, "class-late", { containers: [sh("sleep 1000")] }), node);
      const isReported = async () =>
        (await pods.eventsOf("class-late")).some(({ message }) => message?.includes("not found"));
      await waitUntil("the missing class to be told", 30_000, isReported, 200);
      const sinceMs = Date.now();
      await makeClass(pods, `gone-${node}`, { handler: "test-handler" });
      await pods.first("class-late", "has a sandbox", ({ status }) => status?.podIP !== undefined, 9_000);
      figure("from the class to the pod's address", Date.now() - sinceMs, "ms");
      await pods.delete("class-late", 0);
      await pods.gone("class-late");
    },
  );
});

void suite("pods that run while the labels and resources of their node change", () => {
  deckhandTest(
    "[5.2] [5.13] restarted agent rejects no running pod, whatever labels and resources the node lost; OutOfpods for new ones",
    async () => {
      const { pods } = world;
      const { node } = world.place("deckhand");
      const names = Array.from({ length: 4 }, (_, index) => `stays-${index}`);
      await cluster.kubectl("label", "node", node, "place=here");
      const asking = { ...SLEEPER, resources: { requests: { cpu: "300m" } } };
      const ofNode = { nodeSelector: { place: "here" }, containers: [asking] };
      await waitUntil("the label to count", 30_000, async () => {
        const name = "scout";
        await pods.create(podOn(node, name, ofNode));
        const { status } = await pods.first(name, "was judged", (at) => isRunning(at) || at.status?.phase === "Failed");
        await pods.delete(name, 0);
        await pods.gone(name);
        return status?.phase === "Running";
      });
      for (const name of names) await pods.create(podOn(node, name, ofNode));
      for (const name of names) await pods.running(name);
      const idsOf = () => names.map((name) => pods.latest(name)?.status?.containerStatuses?.[0]?.containerID);
      const before = idsOf();
      const versionsBefore = names.map((name) => pods.versions(name).length);
      await cluster.component(`kubelet@${node}`).kill();
      await cluster.kubectl("label", "node", node, "place-");
      const maxPods = names.length + 1;
      await cluster.changeAgent(node, "deckhand", { configuration: { kubeReserved: { cpu: "1900m" }, maxPods } });
      const reads = "jsonpath={.status.allocatable.cpu}";
      const isSmall = async () => (await cluster.kubectl("get", "node", node, "-o", reads)) === "100m";
      await waitUntil("the node to say how little it can give", 60_000, isSmall, 500);
      await pods.create(podOn(node, "comes-late", ofNode));
      await pods.first("comes-late", "was rejected", ({ status }) => status?.reason === "OutOfcpu");
      const asksNothing = { containers: [SLEEPER] };
      await pods.create(podOn(node, "the-last", asksNothing));
      await pods.running("the-last");
      await pods.create(podOn(node, "one-too-many", asksNothing));
      const { status } = await pods.first("one-too-many", "was judged", ({ status }) => status?.phase === "Failed");
      const message = `Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: ${maxPods}, capacity: ${maxPods}`;
      assert.deepEqual([status?.reason, status?.message], ["OutOfpods", message]);
      assert.deepEqual(idsOf(), before);
      for (const [index, name] of names.entries()) {
        const later = pods.versions(name).slice(versionsBefore[index]);
        assert.ok(
          later.every(({ pod }) => pod.status?.phase === "Running" && isRunning(pod)),
          `${name} flapped`,
        );
        assert.equal(pods.latest(name)?.status?.containerStatuses?.[0]?.restartCount, 0);
      }
      const all = [...names, "comes-late", "the-last", "one-too-many"];
      for (const name of all) await pods.delete(name, 1);
      for (const name of all) await pods.gone(name);
    },
  );
});

void suite("pods on a node under MemoryPressure", () => {
  test("[5.6] a node under MemoryPressure rejects BestEffort pods with the Go kubelet's message and admits critical ones", async () => {
    await Promise.all(SIDES.map((side) => cluster.changeAgent(NODES[side], side, SHORT_OF_MEMORY)));
    for (const side of SIDES) {
      const { node } = world.place(side);
      const reads = `jsonpath={.status.conditions[?(@.type=="MemoryPressure")].status}`;
      const isShort = async () => (await cluster.kubectl("get", "node", node, "-o", reads)) === "True";
      await waitUntil(`${node} to say it is short of memory`, 60_000, isShort, 500);
    }
    await runs.run(world, PRESSURE_CASES);
    await alike("5.6");
  });
});
