import assert from "node:assert/strict";
import { test } from "node:test";
import { nestedDirectories } from "./nested-mounts.ts";
import { usedVolumes } from "./used-volumes.ts";

test("[13.1] only volumes that a container mounts count as used", () => {
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

test("[13.7] mount points nested in a file volume are made once, the outermost only", () => {
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
  assert.deepEqual(nestedDirectories({ spec: { containers } }, "v"), ["certs"]);
});
