import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { containerStats, filesOf, namedPod, podStats, statsByUid } from "../../../test/support/eviction-stats.ts";
import { container, pod } from "../../../test/support/pods.ts";
import type { Pod, PodSpec } from "../../api/gen/core-v1.ts";
import type { FilesystemLayout } from "../node/pressure.ts";
import type { PodStats } from "../stats/summary-shape.ts";
import { storageViolators } from "./local-storage.ts";

const MIB = 2 ** 20;
const limited = (limit: string, name = "app") =>
  container(name, { resources: { limits: { "ephemeral-storage": limit } } });
const emptyDir = (sizeLimit: string, medium = "") => [{ name: "cache", emptyDir: { sizeLimit, medium } }];

const violations = (pods: readonly Pod[], stats: readonly PodStats[], layout: FilesystemLayout = "shared") =>
  storageViolators(pods, statsByUid(stats), layout).map((one) => [one.pod.metadata?.name, one.limit, one.message]);

function only(spec: Partial<PodSpec>, stats: Partial<PodStats>, layout: FilesystemLayout = "shared") {
  return violations([namedPod("p", spec)], [podStats("p", stats)], layout).map(([, ...what]) => what);
}

void suite("limits of local storage", () => {
  for (const medium of ["", "Memory"]) {
    test(`[17.7] an emptyDir above its sizeLimit, medium ${medium === "" ? "disk" : medium}`, () => {
      const volume = (used: number) => ({ volume: [{ name: "cache", ...filesOf(used) }] });
      assert.deepEqual(only({ volumes: emptyDir("1Mi", medium) }, volume(MIB + 1)), [
        ["emptydirfs.limit", 'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". '],
      ]);
      assert.deepEqual(only({ volumes: emptyDir("1Mi", medium) }, volume(MIB)), []);
      assert.deepEqual(only({ volumes: emptyDir("0", medium) }, volume(MIB)), []);
      assert.deepEqual(only({ volumes: emptyDir("1Mi", medium) }, {}), []);
    });
  }

  test("[17.7] a pod above the sum of its containers' limits: its hosts file counts (CVE-2020-8557)", () => {
    const containers = [limited("1Gi"), limited("1Gi", "other")];
    assert.deepEqual(only({ containers }, { "ephemeral-storage": filesOf(2 ** 31 + 1) }), [
      ["ephemeralpodfs.limit", "Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. "],
    ]);
    assert.deepEqual(only({ containers }, { "ephemeral-storage": filesOf(2 ** 31) }), []);
    assert.deepEqual(only({}, { "ephemeral-storage": filesOf(2 ** 40) }), []);
  });

  test("[17.7] a container above its limit: its logs count, its writable layer only on nodefs", () => {
    const containers = [limited("1Mi"), container("other")];
    const used = { containers: [containerStats("app", { rootfs: filesOf(MIB), logs: filesOf(1) })] };
    assert.deepEqual(only({ containers }, used), [
      ["ephemeralcontainerfs.limit", 'Container app exceeded its local ephemeral storage limit "1Mi". '],
    ]);
    assert.deepEqual([only({ containers }, used, "imagefs"), only({ containers }, used, "split")], [[], []]);
    const logs = { containers: [containerStats("app", { logs: filesOf(MIB + 1) })] };
    assert.equal(only({ containers }, logs, "imagefs").length, 1);
  });

  test("[17.7] a pod that exceeds several limits is evicted once, for the first of them", () => {
    const all = {
      "ephemeral-storage": filesOf(2 * MIB),
      volume: [{ name: "cache", ...filesOf(2 * MIB) }],
      containers: [containerStats("app", { logs: filesOf(2 * MIB) })],
    };
    const spec = { containers: [limited("1Mi")], volumes: emptyDir("1Mi") };
    assert.deepEqual(
      only(spec, all).map(([limit]) => limit),
      ["emptydirfs.limit"],
    );
    assert.deepEqual(
      only({ ...spec, volumes: [] }, all).map(([limit]) => limit),
      ["ephemeralpodfs.limit"],
    );
  });

  test("[17.7] every violator is evicted in one round, except critical, static and mirror pods", () => {
    const spec = { containers: [limited("1Mi")] };
    const annotated = (name: string, annotation: string, value: string) =>
      pod(spec, { name, uid: name, annotations: { [annotation]: value } });
    const pods = [
      namedPod("first", spec),
      namedPod("critical", { ...spec, priority: 2_000_000_000 }),
      annotated("static", "kubernetes.io/config.source", "file"),
      annotated("mirror", "kubernetes.io/config.mirror", "hash"),
      namedPod("unknown", spec),
      namedPod("second", spec),
    ];
    const stats = ["first", "critical", "static", "mirror", "second"].map((name) =>
      podStats(name, { "ephemeral-storage": filesOf(2 * MIB) }),
    );
    assert.deepEqual(
      violations(pods, stats).map(([name]) => name),
      ["first", "second"],
    );
  });
});
