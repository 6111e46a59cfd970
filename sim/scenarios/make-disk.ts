/** Provides a directory or a block device of the node as a volume that a pod can claim, with user data in it. */
import { persistentVolumeClaims, persistentVolumes } from "../../src/api/resources.ts";
import { ADMIN } from "../fake-api-server/identity.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import { claimOf, localClaim, localVolume } from "../workload/ordinary-pod.ts";
import type { Stage } from "./scenario.ts";

export function makeDisk({ put, oracle, world, node }: Stage, name: string, path: string): void {
  if (path.startsWith("/dev/")) {
    const device = node.mounts.devices.add(path);
    device.format = { type: "ext4", partitioned: false };
    oracle.volumes.guardDevice(path, device.files, "written long ago\n");
  } else oracle.volumes.guard(`${path}/user-data`, "written long ago\n");
  const uid = put(persistentVolumeClaims, localClaim(name));
  put(persistentVolumes, localVolume(name, path, uid));
  const bound = { kind: "merge", body: { status: { phase: "Bound" } } } as const;
  const target = { namespace: "default", name: claimOf(name) };
  world.api.writes.patch(kindOf(persistentVolumeClaims), target, bound, "status", ADMIN);
}
