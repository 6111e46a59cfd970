/**
 * Creates what the pods refer to: RuntimeClasses and PersistentVolumes in the cluster, files and extended resources on
 * the nodes.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { nodes, persistentVolumeClaims, persistentVolumes } from "../../../src/api/resources.ts";
import { SIDES } from "../../golden/sides.ts";
import { onMachine } from "../../support/node-files.ts";
import type { World } from "../ordinary-differential/case.ts";
import { claimBound } from "../ordinary-differential/objects.ts";
import { SECCOMP_FILES } from "./cases/identity.ts";
import { makeClasses } from "./cases/kernel.ts";
import { EXTENDED } from "./cases/room.ts";

const forever = new AbortController().signal;

export async function makeObjects(world: World): Promise<void> {
  await makeClasses(world);
  for (const side of SIDES) await makeGroupedVolume(world, world.place(side).node);
}

/** A PersistentVolume whose annotation names the group of its files. */
async function makeGroupedVolume(world: World, node: string): Promise<void> {
  const name = `grouped-${node}`;
  const common = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  const { api } = world.pods;
  await api.create(
    persistentVolumes,
    {
      metadata: { name, annotations: { "pv.beta.kubernetes.io/gid": "4321" } },
      spec: {
        ...common,
        capacity: { storage: "1Gi" },
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace: "default", name },
        hostPath: { path: "/var/lib/grouped", type: "DirectoryOrCreate" },
      },
    },
    forever,
  );
  const spec = { ...common, volumeName: name, resources: { requests: { storage: "1Gi" } } };
  await api.create(persistentVolumeClaims, { metadata: { name, namespace: "default" }, spec }, forever);
  await claimBound(world, name);
}

/** Writes seccomp profiles to the nodes, and adds an extended resource that the agent does not know. */
export async function prepareNodes(world: World): Promise<void> {
  for (const side of SIDES) {
    const node = world.node(side);
    for (const [path, profile] of Object.entries(SECCOMP_FILES)) {
      const file = onMachine(node, `/var/lib/kubelet/seccomp/${path}`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, JSON.stringify(profile));
    }
    const body = { status: { capacity: { [EXTENDED]: "2" } } };
    await world.pods.api.patch(
      nodes,
      { name: node.name },
      { kind: "strategic", body },
      { subresource: "status" },
      forever,
    );
  }
}
