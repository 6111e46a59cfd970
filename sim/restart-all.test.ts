/** The RestartAllContainers action of restartPolicyRules: the real loops in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, PodStatus } from "../src/api/gen/core-v1.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World } from "./world.ts";

const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const ENDS_AFTER_MS = 10_000;

const container = (name: string, behaviour: Behaviour, more: Partial<Container> = {}): Container => ({
  name,
  image: "busybox",
  imagePullPolicy: "IfNotPresent",
  command: [...scripted(behaviour)],
  ...more,
});

const rule: Partial<Container> = {
  restartPolicy: "Never",
  restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }],
};

const conditionOf = (status: PodStatus | undefined) => {
  const found = status?.conditions?.find(({ type }) => type === "AllContainersRestarting");
  return found && [found.status, found.reason, found.message];
};

test("[7.12] [7.18] [11.4] RestartAllContainers kills, removes and restarts all containers in the same sandbox, and the status shows it", async () => {
  const world = new World({ seed: 1, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  node.start(kubelet);
  const { find, create, eventsOf } = plainPods(world);
  create(
    "a",
    {},
    {
      restartPolicy: "Never",
      initContainers: [container("one", { exit: { afterMs: 500, code: 0 } })],
      containers: [
        container("app", server, { lifecycle: { preStop: { sleep: { seconds: 60 } } } }),
        container("watcher", { exit: { afterMs: ENDS_AFTER_MS, code: 42 } }, rule),
      ],
    },
  );
  const seen: (PodStatus | undefined)[] = [];
  for (let atMs = 0; atMs < 16_000; atMs += 20) {
    await world.advance(20);
    const status = find("a")?.status;
    if (status !== seen.at(-1)) seen.push(status);
  }
  const reported = seen.map(conditionOf).filter((one) => one !== undefined);
  const changes = reported.filter((one, index) => index === 0 || one[0] !== reported[index - 1]?.[0]);
  assert.deepEqual(changes, [
    ["False", undefined, undefined],
    ["True", "RestartAllContainersStarted", "container exited with restart policy rule"],
    ["False", undefined, undefined],
  ]);
  const ofApp = (status: PodStatus | undefined) => status?.containerStatuses?.find(({ name }) => name === "app");
  const waiting = seen.find((status) => ofApp(status)?.state?.waiting?.reason === "RestartingAllContainers");
  const message = "The container is removed because RestartAllContainers in place";
  for (const name of ["app", "watcher"]) {
    const { restartCount, state, lastState } = waiting?.containerStatuses?.find((one) => one.name === name) ?? {};
    assert.deepEqual(
      { restartCount, state, lastState },
      {
        restartCount: 1,
        state: { waiting: { reason: "RestartingAllContainers", message } },
        lastState: { terminated: { exitCode: 137, reason: "RestartingAllContainers", message } },
      },
    );
  }
  const last = find("a")?.status;
  assert.equal(last?.phase, "Running");
  const all = [...(last.initContainerStatuses ?? []), ...(last.containerStatuses ?? [])];
  assert.deepEqual(
    all.map(({ name, restartCount }) => [name, restartCount]),
    [
      ["one", 1],
      ["app", 1],
      ["watcher", 1],
    ],
  );
  assert.equal(node.runtime.sandboxes.size, 1);
  assert.equal(node.runtime.containers.size, 3, "those of before are gone");
  const logs = await node.files.port.list(`/var/log/pods/default_a_${find("a")?.metadata?.uid}/app`);
  assert.deepEqual(logs.toSorted(), ["0.log", "1.log"]);
  const killed = (await eventsOf("a")).filter(({ reason }) => reason === "Killing").map((event) => event.message);
  assert.deepEqual(killed, ["killing"], "and nobody waited for its hook");
  assert.ok(!seen.some((status) => status?.phase === "Failed" || status?.phase === "Succeeded"));
});
