/** The owner of a cgroup according to its path, for both cgroup drivers. */

/** "<id>", "cri-containerd-<id>.scope", "crio-<id>.scope". */
const CONTAINER = /(?:^|-)([0-9a-f]{64})(?:\.scope)?$/;
/** "pod<uid>", "kubepods-burstable-pod<uid>.slice" with the UID's dashes as underscores. */
const POD = /(?:^|-)pod([0-9a-f][0-9a-f_-]*)(?:\.slice)?$/;

const lastPart = (group: string): string => group.slice(group.lastIndexOf("/") + 1);

/** The runtime's ID of the container or sandbox that owns this cgroup. */
export const containerIdOfGroup = (group: string): string | undefined => CONTAINER.exec(lastPart(group))?.[1];

export const podUidOfGroup = (group: string): string | undefined =>
  POD.exec(lastPart(group))?.[1]?.replaceAll("_", "-");
