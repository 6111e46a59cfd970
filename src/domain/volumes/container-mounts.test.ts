import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeMount } from "../../api/gen/core-v1.ts";
import { containerMounts } from "./container-mounts.ts";
import type { MountedVolume, PodVolumes } from "./volume-state.ts";

const volume = (name: string, more: Partial<MountedVolume> = {}): MountedVolume => ({
  name,
  path: `/pod/volumes/${name}`,
  readOnly: false,
  selinuxRelabel: true,
  measured: undefined,
  ...more,
});
const VOLUMES: PodVolumes = new Map([
  ["data", { kind: "mounted", volume: volume("data") }],
  ["claimed", { kind: "mounted", volume: volume("pv1") }],
  ["config", { kind: "mounted", volume: volume("config", { readOnly: true }) }],
  ["art", { kind: "mounted", volume: volume("art", { path: "", readOnly: true }) }],
  ["late", { kind: "pending" }],
]);

const planned = (mount: Partial<VolumeMount>, recursiveReadOnly = true) =>
  containerMounts(
    { name: "app", volumeMounts: [{ name: "data", mountPath: "/d", ...mount }] },
    {
      podDirectory: "/pod",
      volumes: VOLUMES,
      volumeImages: new Map([["art", { image: "sha256:1", userSpecifiedImage: "reg/a:1" }]]),
      recursiveReadOnly,
      expand: (text) => ({ text: text.replace("$(NAME)", "web-0"), missing: text.includes("$(NONE)") ? ["NONE"] : [] }),
    },
  );
const PLAIN = {
  containerPath: "/d",
  readonly: false,
  recursiveReadonly: false,
  selinuxRelabel: true,
  propagation: "private",
};

test("[13.15] a mount is read-only if volume or mount are, and private unless propagation is requested", () => {
  const only = (mount: Partial<VolumeMount>) => {
    const plan = planned(mount);
    return plan.kind === "mounts" ? plan.mounts[0] : plan;
  };
  assert.deepEqual(only({}), { ...PLAIN, hostPath: "/pod/volumes/data" });
  assert.deepEqual(only({ mountPropagation: "HostToContainer" }), {
    ...PLAIN,
    hostPath: "/pod/volumes/data",
    propagation: "hostToContainer",
  });
  assert.deepEqual(only({ mountPropagation: "Bidirectional", mountPath: "rel" }), {
    ...PLAIN,
    containerPath: "/rel",
    hostPath: "/pod/volumes/data",
    propagation: "bidirectional",
  });
  assert.deepEqual(only({ name: "config" }), { ...PLAIN, hostPath: "/pod/volumes/config", readonly: true });
  assert.deepEqual(only({ readOnly: true }), { ...PLAIN, hostPath: "/pod/volumes/data", readonly: true });
});

test("[13.15] recursive read-only is requested where possible, and refused where Enabled is impossible", () => {
  const outcome = (mount: Partial<VolumeMount>, isAble: boolean) => {
    const plan = planned({ readOnly: true, ...mount }, isAble);
    return plan.kind === "mounts" ? plan.mounts[0]?.recursiveReadonly : plan.message;
  };
  const prefix =
    'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not';
  assert.equal(outcome({ recursiveReadOnly: "Disabled" }, true), false);
  assert.equal(outcome({ recursiveReadOnly: "IfPossible" }, false), false);
  assert.equal(outcome({ recursiveReadOnly: "IfPossible" }, true), true);
  assert.equal(outcome({ recursiveReadOnly: "Enabled" }, true), true);
  assert.equal(outcome({ recursiveReadOnly: "Enabled" }, false), `${prefix} supported by the runtime`);
  assert.equal(outcome({ recursiveReadOnly: "Enabled", readOnly: false }, true), `${prefix} read-only`);
  assert.equal(
    outcome({ recursiveReadOnly: "Enabled", mountPropagation: "Bidirectional" }, true),
    `${prefix} compatible with propagation "Bidirectional"`,
  );
});

test("[13.14] [27.1.16] a subPath is bound below the pod's directory, by the volume's name on disk", () => {
  assert.deepEqual(planned({ name: "claimed", subPathExpr: "logs/$(NAME)", readOnly: true }), {
    kind: "mounts",
    mounts: [{ ...PLAIN, readonly: true, hostPath: "/pod/volume-subpaths/pv1/app/0" }],
    subPaths: [
      {
        volume: "claimed",
        volumePath: "/pod/volumes/pv1",
        subPath: "logs/web-0",
        target: "/pod/volume-subpaths/pv1/app/0",
      },
    ],
  });
});

for (const [mount, message] of [
  [{ subPath: "/etc" }, "error SubPath `/etc` must not be an absolute path"],
  [{ subPath: "a/../../b" }, "unable to provision SubPath `a/../../b`: must not contain '..'"],
  [{ subPathExpr: "$(NONE)/x" }, "missing value for NONE"],
  [{ name: "late" }, 'cannot find volume "late" to mount into container "app"'],
  [{ name: "nowhere" }, 'cannot find volume "nowhere" to mount into container "app"'],
] as const) {
  test(`[13.14] refused mount: ${message}`, () => {
    assert.deepEqual(planned(mount), { kind: "refused", message });
  });
}

test("[9.12] an image volume is left to the runtime to mount, with its subPath", () => {
  const plan = planned({ name: "art", subPath: "lib" });
  assert(plan.kind === "mounts");
  assert.deepEqual(plan.subPaths, []);
  assert.deepEqual(plan.mounts, [
    {
      ...PLAIN,
      readonly: true,
      hostPath: "",
      image: { image: "sha256:1", userSpecifiedImage: "reg/a:1" },
      imageSubPath: "lib",
    },
  ]);
});
