import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from "../../api/gen/core-v1.ts";
import type { KnownObject } from "../cluster-objects/known-object.ts";
import { hostPathStep } from "./host-path.ts";
import { nestedFolders } from "./nested-mounts.ts";
import { usedVolumes, volumeWish } from "./volume-wish.ts";

const MIB = 1024n * 1024n;
const pod = (spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod => ({
  metadata: { name: "web", namespace: "shop", uid: "u1" },
  spec: { containers: [{ name: "app" }], ...spec },
});
const wish = (volume: Omit<Volume, "name">, of = pod(), objects = new Map<string, KnownObject<unknown>>()) =>
  volumeWish(
    of,
    { name: "v", ...volume },
    {
      object: (key) => objects.get(key),
      node: { name: "n1", labels: { zone: "a", size: "5" } },
      allocatableMemoryBytes: 1000n * MIB,
    },
  );
const refused = (message: string, operation = "MountVolume.SetUp failed") => ({ kind: "refused", operation, message });

test("[13.5] a volume in memory is as large as the smallest of its own limit, the pod's and the node's", () => {
  const limited = pod({
    containers: [{ name: "app", resources: { limits: { memory: "64Mi" }, requests: { memory: "64Mi" } } }],
  });
  const size = (sizeLimit: string | undefined, of = pod()) =>
    wish({ emptyDir: { medium: "Memory", ...(sizeLimit === undefined ? {} : { sizeLimit }) } }, of);
  assert.deepEqual(size(undefined), { kind: "memory", sizeBytes: 1000n * MIB });
  assert.deepEqual(size("10Mi"), { kind: "memory", sizeBytes: 10n * MIB });
  assert.deepEqual(size("2Gi"), { kind: "memory", sizeBytes: 1000n * MIB });
  assert.deepEqual(size(undefined, limited), { kind: "memory", sizeBytes: 64n * MIB });
  assert.deepEqual(size("128Mi", limited), { kind: "memory", sizeBytes: 64n * MIB });
  assert.deepEqual(size("0", limited), { kind: "memory", sizeBytes: 64n * MIB });
});

test("[13.5] huge pages need a request that says which", () => {
  const asks = (...sizes: string[]) =>
    pod({
      containers: [
        { name: "app", resources: { requests: Object.fromEntries(sizes.map((size) => [`hugepages-${size}`, "4Mi"])) } },
      ],
    });
  assert.deepEqual(wish({ emptyDir: { medium: "HugePages" } }, asks("2Mi")), { kind: "hugepages", pageSize: "2Mi" });
  assert.deepEqual(wish({ emptyDir: { medium: "HugePages-2Mi" } }, asks("2Mi", "1Gi")), {
    kind: "hugepages",
    pageSize: "2Mi",
  });
  assert.deepEqual(
    wish({ emptyDir: { medium: "HugePages" } }, asks("2Mi", "1Gi")),
    refused("medium: HugePages can't be used if container requests multiple huge page sizes"),
  );
  assert.deepEqual(
    wish({ emptyDir: { medium: "HugePages-2Mi" } }),
    refused("medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages"),
  );
});

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
  wish({ persistentVolumeClaim: { claimName: "data" } }, pod(), objects(...of));

test("[13.16] [13.30] a claim that is bound to a local volume of this node is that volume", () => {
  assert.deepEqual(claimed(present(CLAIM), present(LOCAL)), {
    kind: "local",
    source: "/mnt/disk",
    volumeName: "pv1",
    fsType: "ext4",
    mountOptions: [],
    readOnly: false,
  });
});

test("[13.30] nothing is said of a claim or of its volume before the API server has answered", () => {
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
    "names a volume that knows nothing of it",
    present(CLAIM),
    present({ metadata: LOCAL.metadata, spec: { local: { path: "/x" } } }),
    "found PV object pv1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim",
  ],
] as const) {
  test(`[13.30] a claim that ${what} is waited for, in upstream's words`, () => {
    const expected = { kind: "unprocessed", message: `error processing PVC shop/data: ${message}` };
    assert.deepEqual(claimed(claim, volume), expected);
  });
}

test("[13.30] a generic ephemeral volume's claim must be the pod's own, and a block volume is no file system", () => {
  const own = {
    ...CLAIM,
    metadata: {
      ...CLAIM.metadata,
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "u1", controller: true }],
    },
  };
  const ephemeral = (claim: unknown) =>
    wish(
      { ephemeral: {} },
      pod(),
      new Map([
        ["PersistentVolumeClaim/shop/web-v", present(claim)],
        ["PersistentVolume//pv1", present(LOCAL)],
      ]),
    );
  assert.equal(ephemeral(own).kind, "local");
  assert.deepEqual(ephemeral(CLAIM), {
    kind: "unprocessed",
    message: "PVC shop/web-v was not created for pod shop/web (pod is not owner)",
  });
  assert.deepEqual(claimed(present(CLAIM), present({ ...LOCAL, spec: { ...LOCAL.spec, volumeMode: "Block" } })), {
    kind: "unprocessed",
    message: "volume v has volumeMode Block, but is specified in volumeMounts",
  });
});

test("[13.16] a local volume of another node is refused", () => {
  const elsewhere = (terms: readonly object[]) =>
    claimed(
      present(CLAIM),
      present({ ...LOCAL, spec: { ...LOCAL.spec, nodeAffinity: { required: { nodeSelectorTerms: terms } } } }),
    ).kind;
  const term = (key: string, operator: string, ...values: string[]) => ({
    matchExpressions: [{ key, operator, values }],
  });
  assert.deepEqual(
    claimed(
      present(CLAIM),
      present({
        ...LOCAL,
        spec: { ...LOCAL.spec, nodeAffinity: { required: { nodeSelectorTerms: [term("zone", "In", "b")] } } },
      }),
    ),
    { ...refused("no matching NodeSelectorTerms", "MountVolume.NodeAffinity check failed"), persistentName: "pv1" },
  );
  assert.equal(elsewhere([term("zone", "In", "b"), term("size", "Gt", "4")]), "local");
  assert.equal(elsewhere([term("size", "Lt", "5")]), "refused");
  assert.equal(elsewhere([term("absent", "DoesNotExist")]), "local");
  assert.equal(elsewhere([term("absent", "NotIn", "x")]), "local");
  assert.equal(elsewhere([{}]), "refused");
  assert.equal(elsewhere([{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }]), "local");
});

test("[13.6] a hostPath is checked against its type", () => {
  const kinds = ["absent", "file", "folder", "socket", "charDevice", "blockDevice"] as const;
  const outcomes = (type: string) => kinds.map((kind) => hostPathStep("/p", type, kind).kind);
  assert.deepEqual(outcomes(""), ["ready", "ready", "ready", "ready", "ready", "ready"]);
  assert.deepEqual(outcomes("DirectoryOrCreate"), ["makeFolder", "refused", "ready", "refused", "refused", "refused"]);
  assert.deepEqual(outcomes("Directory"), ["refused", "refused", "ready", "refused", "refused", "refused"]);
  assert.deepEqual(outcomes("FileOrCreate"), ["makeFile", "ready", "refused", "refused", "refused", "refused"]);
  assert.deepEqual(outcomes("File"), ["refused", "ready", "refused", "refused", "refused", "refused"]);
  assert.deepEqual(outcomes("Socket"), ["refused", "refused", "refused", "ready", "refused", "refused"]);
  assert.deepEqual(outcomes("CharDevice"), ["refused", "refused", "refused", "refused", "ready", "refused"]);
  assert.deepEqual(outcomes("BlockDevice"), ["refused", "refused", "refused", "refused", "refused", "ready"]);
  assert.deepEqual(hostPathStep("/p", "Socket", "absent"), {
    kind: "refused",
    message: "hostPath type check failed: /p is not a socket file",
  });
  assert.deepEqual(
    wish({ hostPath: { path: "/a/../b" } }),
    refused("invalid HostPath `/a/../b`: must not contain '..'"),
  );
});

test("[13.1] only volumes that some container mounts count", () => {
  const spec = {
    containers: [{ name: "a", volumeMounts: [{ name: "one", mountPath: "/1" }] }],
    initContainers: [{ name: "i", volumeDevices: [{ name: "two", devicePath: "/dev/2" }] }],
    volumes: [{ name: "one" }, { name: "two" }, { name: "three" }],
  };
  assert.deepEqual(
    usedVolumes({ spec }).map(({ name }) => name),
    ["one", "two"],
  );
});

test("[13.7] folders for volumes mounted inside a written volume are made in it, once, the outermost only", () => {
  const mount = (name: string, mountPath: string) => ({ name, mountPath });
  const containers = [
    {
      name: "a",
      volumeMounts: [
        mount("v", "/etc/app"),
        mount("w", "/etc/app/certs"),
        mount("x", "/etc/app/certs/deep"),
        mount("y", "/etc/app-2"),
      ],
    },
    { name: "b", volumeMounts: [mount("v", "/conf/"), mount("w", "/conf//certs/")] },
  ];
  assert.deepEqual(nestedFolders({ spec: { containers } }, "v"), ["certs"]);
});
