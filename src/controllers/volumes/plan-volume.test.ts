import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from "../../api/gen/core-v1.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import { planVolume } from "./plan-volume.ts";
import { localVolume } from "./plugins/local.ts";
import { VOLUME_PLUGINS } from "./plugins/volume-plugins.ts";

const pod: Pod = {
  metadata: { name: "web", namespace: "shop", uid: "u1" },
  spec: { containers: [{ name: "app" }] },
};

/** Returns the plugin and name of the volume, and whether it is refused or what it waits for. */
function planned(volume: Omit<Volume, "name">, objects = new Map<string, KnownObject<unknown>>()) {
  const answer = planVolume(
    pod,
    { name: "v", ...volume },
    {
      plugins: VOLUME_PLUGINS,
      object: (key) => objects.get(key),
      node: { name: "n1", labels: { zone: "a", size: "5" } },
      allocatableMemoryBytes: 1n << 30n,
    },
  );
  if (answer.kind !== "planned") return answer;
  const { plugin, name, plan } = answer;
  const refused = plan.kind === "refused" ? { refused: `${plan.operation}: ${plan.message}` } : {};
  return { plugin: plugin?.name, name, ...refused };
}

const CLAIM: PersistentVolumeClaim = {
  metadata: { name: "data", namespace: "shop", uid: "c1" },
  spec: { volumeName: "pv1" },
  status: { phase: "Bound" },
};
const LOCAL: PersistentVolume = {
  metadata: { name: "pv1" },
  spec: {
    local: { path: "/mnt/disk" },
    claimRef: { uid: "c1" },
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] },
    },
  },
};
const objects = (claim: KnownObject<unknown> | undefined, volume?: KnownObject<unknown>) =>
  new Map<string, KnownObject<unknown>>([
    ...(claim === undefined ? [] : ([["PersistentVolumeClaim/shop/data", claim]] as const)),
    ...(volume === undefined ? [] : ([["PersistentVolume//pv1", volume]] as const)),
  ]);
const present = (object: unknown): KnownObject<unknown> => ({ kind: "present", object });
const claimed = (...of: Parameters<typeof objects>) =>
  planned({ persistentVolumeClaim: { claimName: "data" } }, objects(...of));

test("[13.16] [13.30] a claim bound to a local volume of this node is planned as that volume", () => {
  assert.deepEqual(claimed(present(CLAIM), present(LOCAL)), { plugin: "local-volume", name: "pv1" });
  assert.deepEqual(localVolume(LOCAL, false), {
    source: "/mnt/disk",
    fsType: "ext4",
    mountOptions: [],
    readOnly: false,
  });
});

test("[13.30] a claim is unknown until the API server has returned the claim and its volume", () => {
  assert.deepEqual(claimed(undefined, undefined), { kind: "unknown" });
  assert.deepEqual(claimed(present(CLAIM), undefined), { kind: "unknown" });
});

for (const [what, claim, volume, message] of [
  [
    "does not exist",
    { kind: "missing" },
    undefined,
    'failed to fetch PVC from API server: persistentvolumeclaims "data" not found',
  ],
  ["is not bound", present({ ...CLAIM, status: { phase: "Pending" } }), undefined, "PVC is not bound"],
  [
    "is being deleted",
    present({ ...CLAIM, metadata: { ...CLAIM.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }),
    undefined,
    "PVC is being deleted",
  ],
  ["names no volume", present({ ...CLAIM, spec: {} }), undefined, "PVC has empty pvc.Spec.VolumeName"],
  [
    "names a volume that does not exist",
    present(CLAIM),
    { kind: "missing" },
    'failed to fetch PV pv1 from API server: persistentvolumes "pv1" not found',
  ],
  [
    "names a volume of another claim",
    present(CLAIM),
    present({ ...LOCAL, spec: { ...LOCAL.spec, claimRef: { uid: "c2" } } }),
    "found PV object pv1 but its pv.Spec.ClaimRef.UID c2 does not point to claim.UID c1",
  ],
  [
    "names a volume without a claimRef",
    present(CLAIM),
    present({ metadata: LOCAL.metadata, spec: { local: { path: "/x" } } }),
    "found PV object pv1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim",
  ],
] as const) {
  test(`[13.30] a claim that ${what} is unprocessed, with upstream's message`, () => {
    const expected = { kind: "unprocessed", message: `error processing PVC shop/data: ${message}` };
    assert.deepEqual(claimed(claim, volume), expected);
  });
}

test("[13.30] a generic ephemeral volume's claim must be owned by the pod, and a block volume cannot be a volumeMount", () => {
  const own = {
    ...CLAIM,
    metadata: {
      ...CLAIM.metadata,
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "u1", controller: true }],
    },
  };
  const ephemeral = (claim: unknown) =>
    planned(
      { ephemeral: {} },
      new Map([
        ["PersistentVolumeClaim/shop/web-v", present(claim)],
        ["PersistentVolume//pv1", present(LOCAL)],
      ]),
    );
  assert.deepEqual(ephemeral(own), { plugin: "local-volume", name: "pv1" });
  assert.deepEqual(ephemeral(CLAIM), {
    kind: "unprocessed",
    message: "PVC shop/web-v was not created for pod shop/web (pod is not owner)",
  });
  assert.deepEqual(claimed(present(CLAIM), present({ ...LOCAL, spec: { ...LOCAL.spec, volumeMode: "Block" } })), {
    kind: "unprocessed",
    message: "volume v has volumeMode Block, but is specified in volumeMounts",
  });
});

test("[13.16] a local volume whose node affinity does not match is refused", () => {
  const withTerms = (terms: readonly object[]) =>
    claimed(
      present(CLAIM),
      present({ ...LOCAL, spec: { ...LOCAL.spec, nodeAffinity: { required: { nodeSelectorTerms: terms } } } }),
    );
  const term = (key: string, operator: string, ...values: string[]) => ({
    matchExpressions: [{ key, operator, values }],
  });
  const fits = { plugin: "local-volume", name: "pv1" };
  const elsewhere = {
    ...fits,
    refused: "MountVolume.NodeAffinity check failed: no matching NodeSelectorTerms",
  };
  assert.deepEqual(withTerms([term("zone", "In", "b")]), elsewhere);
  assert.deepEqual(withTerms([term("zone", "In", "b"), term("size", "Gt", "4")]), fits);
  assert.deepEqual(withTerms([term("size", "Lt", "5")]), elsewhere);
  assert.deepEqual(withTerms([term("absent", "DoesNotExist")]), fits);
  assert.deepEqual(withTerms([term("absent", "NotIn", "x")]), fits);
  assert.deepEqual(withTerms([{}]), elsewhere);
  assert.deepEqual(withTerms([{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }]), fits);
});

const failed = "MountVolume.SetUp failed";

test("[13.6][13.16] a volume with .. in its path, or without a path, is refused", () => {
  assert.deepEqual(planned({ hostPath: { path: "/a/../b" } }), {
    plugin: "host-path",
    name: "v",
    refused: `${failed}: invalid HostPath \`/a/../b\`: must not contain '..'`,
  });
  const local = (path: string) =>
    claimed(present(CLAIM), present({ ...LOCAL, spec: { ...LOCAL.spec, local: { path } } }));
  assert.deepEqual(local("/a/../b"), {
    plugin: "local-volume",
    name: "pv1",
    refused: `${failed}: invalid path: /a/../b must not contain '..'`,
  });
  assert.deepEqual(local(""), {
    plugin: "local-volume",
    name: "pv1",
    refused: `${failed}: local volume source is nil or local path is not set`,
  });
});

test("[13.5] an emptyDir with an unknown medium, or with huge pages that the pod does not request, is refused", () => {
  const medium = (medium: string) => planned({ emptyDir: { medium } });
  assert.deepEqual(medium("Memory"), { plugin: "empty-dir", name: "v" });
  assert.deepEqual(medium("Tape"), {
    plugin: "empty-dir",
    name: "v",
    refused: `${failed}: unknown storage medium "Tape"`,
  });
  assert.deepEqual(medium("HugePages"), {
    plugin: "empty-dir",
    name: "v",
    refused: `${failed}: medium HugePages: hugePages storage requested, but there is no resource request for huge pages`,
  });
});

test("a volume that no plugin supports is refused", () => {
  assert.deepEqual(planned({ nfs: { path: "/x", server: "s" } }), {
    plugin: undefined,
    name: "v",
    refused: `${failed}: this node agent does not support the kind of volume v yet`,
  });
  const { local: _, ...spec } = LOCAL.spec ?? {};
  assert.deepEqual(
    claimed(present(CLAIM), present({ ...LOCAL, spec: { ...spec, nfs: { path: "/x", server: "s" } } })),
    {
      plugin: undefined,
      name: "pv1",
      refused: `${failed}: this node agent does not support the kind of PersistentVolume pv1 yet`,
    },
  );
});
