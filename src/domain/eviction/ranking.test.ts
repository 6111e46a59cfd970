import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import {
  containerStats,
  filesOf,
  memoryOf,
  namedPod,
  podStats,
  statsByUid,
} from "../../../test/support/eviction-stats.ts";
import { container } from "../../../test/support/pods.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import type { FilesystemLayout, Signal } from "../node/pressure.ts";
import type { PodStats } from "../stats/summary-shape.ts";
import { rankPods } from "./ranking.ts";

const requesting = (requests: Readonly<Record<string, string>>) => [container("app", { resources: { requests } })];

function order(signal: Signal, pods: readonly Pod[], all: readonly PodStats[], layout: FilesystemLayout = "shared") {
  return rankPods({ signal, layout }, pods, statsByUid(all)).map((one) => one.pod.metadata?.uid);
}

void suite("ranking of pods", () => {
  test("[17.5] memory: no stats, then above the request, then lower priority, then larger usage above it", () => {
    const pods = [
      namedPod("below-low", { containers: requesting({ memory: "1000" }), priority: -1 }),
      namedPod("above-high", { priority: 10 }),
      namedPod("above-small"),
      namedPod("above-large"),
      namedPod("above-request", { containers: requesting({ memory: "100" }) }),
      namedPod("unknown", { priority: 1000 }),
    ];
    const all = [
      podStats("below-low", { memory: memoryOf(999) }),
      podStats("above-high", { memory: memoryOf(9999) }),
      podStats("above-small", { memory: memoryOf(10) }),
      podStats("above-large", { memory: memoryOf(60) }),
      podStats("above-request", { memory: memoryOf(140) }),
    ];
    assert.deepEqual(order("memory.available", pods, all), [
      "unknown",
      "above-large",
      "above-request",
      "above-small",
      "above-high",
      "below-low",
    ]);
  });

  test("[17.5] PIDs: lower priority, then no stats, then more processes", () => {
    const pods = [namedPod("few"), namedPod("many"), namedPod("unknown"), namedPod("low", { priority: -1 })];
    const processes = (uid: string, process_count: number) => podStats(uid, { process_stats: { process_count } });
    assert.deepEqual(order("pid.available", pods, [processes("few", 1), processes("many", 2), processes("low", 0)]), [
      "low",
      "unknown",
      "many",
      "few",
    ]);
  });

  const volumes = [
    { name: "disk", emptyDir: {} },
    { name: "tmpfs", emptyDir: { medium: "Memory" } },
    { name: "secret", secret: { secretName: "s" } },
  ];
  const inPart = [
    podStats("rootfs", { containers: [containerStats("app", { rootfs: filesOf(3), logs: filesOf(0) })] }),
    podStats("logs", { containers: [containerStats("app", { rootfs: filesOf(0), logs: filesOf(2) })] }),
    podStats("volume", { volume: [{ name: "disk", ...filesOf(1) }] }),
    podStats("memory", { volume: ["tmpfs", "secret"].map((name) => ({ name, ...filesOf(9) })) }),
  ];
  const inParts = inPart.toReversed().map(({ podRef }) => namedPod(podRef.uid, { volumes }));
  for (const [layout, filesystem, wanted] of [
    ["shared", "nodefs", ["rootfs", "logs", "volume", "memory"]],
    ["shared", "imagefs", ["rootfs", "logs", "volume", "memory"]],
    ["shared", "containerfs", ["rootfs", "logs", "volume", "memory"]],
    ["imagefs", "nodefs", ["logs", "volume", "memory", "rootfs"]],
    ["imagefs", "imagefs", ["rootfs", "memory", "volume", "logs"]],
    ["imagefs", "containerfs", ["rootfs", "memory", "volume", "logs"]],
    ["split", "nodefs", ["rootfs", "logs", "volume", "memory"]],
    ["split", "imagefs", ["memory", "volume", "logs", "rootfs"]],
    ["split", "containerfs", ["rootfs", "logs", "volume", "memory"]],
  ] as const) {
    test(`[17.5] layout ${layout}: pods are ranked by their files on ${filesystem}`, () => {
      assert.deepEqual(order(`${filesystem}.available`, inParts, inPart, layout), wanted);
      assert.deepEqual(order(`${filesystem}.inodesFree`, inParts, inPart, layout), wanted);
    });
  }

  test("[17.5] requests at pod level replace those of the containers, also of resources that they do not name", () => {
    const containers = requesting({ "ephemeral-storage": "1000" });
    const pods = [
      namedPod("containers", { containers }),
      namedPod("pod", { containers, resources: { requests: { cpu: "1" } } }),
    ];
    const used = pods.map(({ metadata }) =>
      podStats(metadata?.uid ?? "", { containers: [containerStats("app", { logs: filesOf(500) })] }),
    );
    assert.deepEqual(order("nodefs.available", pods, used), ["pod", "containers"]);
  });

  test("[17.5] overhead is added only to a request", () => {
    const overhead = { memory: "100" };
    const pods = [
      namedPod("without", { overhead }),
      namedPod("with", { containers: requesting({ memory: "1" }), overhead }),
    ];
    const used = pods.map(({ metadata }) => podStats(metadata?.uid ?? "", { memory: memoryOf(50) }));
    assert.deepEqual(order("memory.available", pods.toReversed(), used), ["without", "with"]);
  });

  test("[17.5] every pod is ranked once, and equal pods keep their order", () => {
    const one = fc.record({ priority: fc.constantFrom(0, 1), used: fc.option(fc.constantFrom(0, 5)) });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 40 }), (drawn) => {
        const pods = drawn.map(({ priority }, place) => namedPod(String(place), { priority }));
        const all = drawn.flatMap(({ used }, place) =>
          used === null ? [] : [podStats(String(place), { memory: memoryOf(used) })],
        );
        const ranked = order("memory.available", pods, all).map(Number);
        assert.deepEqual(
          [...ranked].sort((a, b) => a - b),
          [...pods.keys()],
        );
        for (const [index, place] of ranked.slice(1).entries()) {
          const previous = ranked[index] ?? -1;
          if (JSON.stringify(drawn[previous]) === JSON.stringify(drawn[place])) assert.ok(previous < place);
        }
      }),
    );
  });
});
