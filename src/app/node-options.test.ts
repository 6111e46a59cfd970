import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { machineFacts } from "../../test/support/node-world.ts";
import { directoryOf, HEADER, load } from "../../test/support/options.ts";
import { allocatableMemoryBytes, nodeOptions, registrationOf, reservationsOf } from "./node-options.ts";

const RESERVED = `${HEADER}systemReserved: {cpu: 200m, memory: 100Mi}
kubeReserved: {memory: 50Mi}
evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi}
`;

function optionsOf(t: TestContext, config: string, ...flags: readonly string[]) {
  const directory = directoryOf(t, { "config.yaml": config });
  return load(["--config", join(directory, "config.yaml"), ...flags]).options;
}

test("allocatable is capacity minus reservations and hard eviction thresholds", (t) => {
  const { allocatableOf } = nodeOptions(optionsOf(t, RESERVED));
  assert.deepEqual(allocatableOf({ cpu: "4", memory: "1000Mi", "ephemeral-storage": "10Gi", pods: "50" }), {
    cpu: "3800m",
    memory: "750Mi",
    "ephemeral-storage": "9Gi",
    pods: "50",
  });
});

test("the memory limit of pods is capacity minus reservations and hard eviction thresholds", (t) => {
  const machine = { ...machineFacts, memoryBytes: 1000n * 1024n * 1024n, hugepages: new Map<bigint, bigint>() };
  assert.equal(allocatableMemoryBytes(machine, optionsOf(t, RESERVED)), 750n * 1024n * 1024n);
});

test("reservations keep their amounts by name", (t) => {
  const { kubeReserved, systemReserved } = reservationsOf(optionsOf(t, RESERVED));
  assert.deepEqual([[...kubeReserved.keys()], [...systemReserved.keys()]], [["memory"], ["cpu", "memory"]]);
});

test("a Node that does not exist yet gets the operator's labels, taints and provider", (t) => {
  const flags = ["--node-labels=zone=a", "--register-with-taints=key=value:NoSchedule", "--provider-id=cloud://n1"];
  const { labels, taints, providerId, controllerAttach } = registrationOf(optionsOf(t, HEADER, ...flags));
  assert.equal(labels["zone"], "a");
  assert.deepEqual(taints, [{ key: "key", value: "value", effect: "NoSchedule" }]);
  assert.deepEqual([providerId, controllerAttach], ["cloud://n1", true]);
});
