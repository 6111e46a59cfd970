import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import type { KnownObject } from "../cluster-objects/references.ts";
import { volumeGroups } from "./volume-groups.ts";

test("[25.1] a pod gets the groups of its bound volumes, each once, without its own supplementalGroups", () => {
  const objects = new Map<string, KnownObject<unknown>>();
  const bind = (name: string, gid: string | undefined) => {
    const annotations = gid === undefined ? {} : { "pv.beta.kubernetes.io/gid": gid };
    const claimRef = { namespace: "default", name, uid: name };
    const spec = { volumeName: `pv-${name}`, volumeMode: "Filesystem", accessModes: ["ReadWriteOnce"] };
    objects.set(`PersistentVolumeClaim/default/${name}`, {
      kind: "present",
      object: { metadata: { name, namespace: "default", uid: name }, spec, status: { phase: "Bound" } },
    });
    objects.set(`PersistentVolume//pv-${name}`, {
      kind: "present",
      object: { metadata: { name: `pv-${name}`, annotations }, spec: { claimRef, volumeMode: "Filesystem" } },
    });
  };
  bind("a", "1234");
  bind("b", "1234");
  bind("c", "77");
  bind("d", "no number");
  bind("e", undefined);
  bind("unused", "5");
  const names = ["a", "b", "c", "d", "e", "missing"];
  const asking = pod({
    securityContext: { supplementalGroups: [77] },
    containers: [container("app", { volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) })],
    volumes: [...names, "unused"].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
  });
  assert.deepEqual(
    volumeGroups(asking, (key) => objects.get(key)),
    [1234n],
  );
  assert.deepEqual(
    volumeGroups(pod(), () => undefined),
    [],
  );
});
