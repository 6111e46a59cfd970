import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { containerStats, filesOf, memoryOf, namedPod, podStats } from "../../../test/support/eviction-stats.ts";
import { container } from "../../../test/support/pods.ts";
import { parseThresholds } from "../../app/options/eviction-thresholds.ts";
import type { Observation, Signal } from "../node/pressure.ts";
import { evictionText, type Shortage, thresholdMetMessage } from "./message.ts";
import { evictionThresholds, resourceOf } from "./thresholds.ts";

const MIB = 2 ** 20;

function shortage(signal: Signal, threshold: string, available: bigint, capacity: bigint): Shortage {
  const settings = { hard: parseThresholds({ [signal]: threshold }), soft: [], minReclaims: new Map() };
  return {
    resource: resourceOf(signal),
    met: evictionThresholds(settings, { enforcesPods: false, layout: "shared" }),
    observations: new Map<Signal, Observation>([[signal, { available, capacity, atMonotonicMs: 0 }]]),
  };
}
const noMemory = shortage("memory.available", "100Mi", 50n * 2n ** 20n, 2n ** 33n);

void suite("text of an eviction", () => {
  const requests = { memory: "64Mi" };
  const spec = {
    containers: [container("app", { resources: { requests } }), container("quiet", { resources: { requests } })],
    initContainers: [container("sidecar", { restartPolicy: "Always" as const })],
  };

  test("[17.6] memory: the message and annotations name the containers that use more than they request", () => {
    const stats = podStats("p", {
      containers: [
        containerStats("app", { memory: memoryOf(65 * MIB) }),
        containerStats("quiet", { memory: memoryOf(64 * MIB) }),
        containerStats("sidecar", { memory: memoryOf(7) }),
        containerStats("debugger", { memory: memoryOf(1000 * MIB) }),
      ],
    });
    assert.deepEqual(evictionText(noMemory, namedPod("p", spec), stats), {
      message:
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
        "Container app was using 65Mi, request is 64Mi, has larger consumption of memory. " +
        "Container sidecar was using 7, request is 0, has larger consumption of memory. ",
      annotations: {
        offending_containers: "app,sidecar",
        offending_containers_usage: "65Mi,7",
        starved_resource: "memory",
      },
    });
  });

  test("[17.6] a pod-level memory request is named with the pod's usage, even below the request", () => {
    const stats = podStats("p", { memory: memoryOf(10 * MIB) });
    const pod = namedPod("p", { resources: { requests: { memory: "100Mi" } } });
    const { message, annotations } = evictionText(noMemory, pod, stats);
    assert.match(message, /50Mi\. Pod p was using 10Mi, request is 100Mi, has larger consumption of memory\. $/);
    assert.deepEqual(annotations, {
      offending_pod: "p",
      offending_pod_usage: "10Mi",
      offending_containers: "",
      offending_containers_usage: "",
      starved_resource: "memory",
    });
  });

  test("[17.6] a pod without stats has no annotations", () => {
    assert.deepEqual(evictionText(noMemory, namedPod("p"), undefined), {
      message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ",
      annotations: {},
    });
  });

  test("[17.6] disk space: a container's usage is its writable layer and logs, if both were measured", () => {
    const stats = podStats("p", {
      containers: [
        containerStats("app", { rootfs: filesOf(MIB), logs: filesOf(MIB) }),
        containerStats("quiet", { rootfs: filesOf(MIB) }),
      ],
    });
    const disk = shortage("imagefs.available", "15%", 1n, 1000n * 2n ** 20n);
    assert.equal(
      evictionText(disk, namedPod("p", spec), stats).message,
      "The node was low on resource: ephemeral-storage. Threshold quantity: 157286406, available: 1. " +
        "Container app was using 2Mi, request is 0, has larger consumption of ephemeral-storage. ",
    );
  });

  for (const [signal, resource] of [
    ["nodefs.inodesFree", "inodes"],
    ["pid.available", "pids"],
  ] as const) {
    test(`[17.6] ${resource}: no container is named, and amounts available have decimal suffixes`, () => {
      const stats = podStats("p", { containers: [containerStats("app", { memory: memoryOf(1), rootfs: filesOf(1) })] });
      const { message, annotations } = evictionText(
        shortage(signal, "2048", 2000n, 10_000n),
        namedPod("p", spec),
        stats,
      );
      assert.equal(message, `The node was low on resource: ${resource}. Threshold quantity: 2048, available: 2k. `);
      assert.equal(annotations["starved_resource"], resource);
      assert.equal(thresholdMetMessage(resource), `Attempting to reclaim ${resource}`);
    });
  }
});
