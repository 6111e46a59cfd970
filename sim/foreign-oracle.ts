/**
 * [12] The agent changes nothing that it does not own: files, mounts, cgroups with their processes, and API objects of
 * other nodes stay as they are.
 *
 * The runtime has no foreign sandboxes. The agent ends every sandbox that the CRI lists and no source knows, as the Go
 * kubelet does, because such a sandbox is what a pod left whose records were lost. The same holds below `pods` and for
 * log directories with the name of a pod.
 */
import type { Lease } from "../src/api/gen/coordination-v1.ts";
import type { Node, Pod } from "../src/api/gen/core-v1.ts";
import { leases, nodes, pods } from "../src/api/resources.ts";
import type { ApiObject, Resource } from "../src/ports/api-server.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import type { DiskEntry } from "./fake-disk.ts";
import type { SimNode } from "./sim-node.ts";
import { entryAt } from "./workload/disk-view.ts";
import type { World } from "./world.ts";
import { install } from "./world-files.ts";

/** Files next to the agent's own, and in directories where the agent searches for leftovers of pods. */
const FILES: Readonly<Record<string, string>> = {
  "/var/lib/kubelet/plugins/vendor.example/state.json": "of a driver\n",
  "/var/lib/kubelet/vendor/notes": "of an operator\n",
  "/var/log/pods/README": "of an operator\n",
  "/var/log/containers/vendor.log": "of another program\n",
  "/etc/kubernetes/pki/ca.key": "of the control plane\n",
};
const MOUNT = { source: "/var/lib/vendor", target: "/var/lib/kubelet/plugins/vendor.example/mount" };
/** Cgroups of the system, and below the cgroups in which the agent searches for leftovers of pods. */
const CGROUPS = [
  ["system.slice", "vendor.service"],
  ["kubepods", "vendor"],
  ["kubepods", "burstable", "vendor"],
];
const FIRST_PID = 100;
const OTHER_NODE = "other";

const NODE: Node = { apiVersion: "v1", kind: "Node", metadata: { name: OTHER_NODE } };
const LEASE: Lease = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: OTHER_NODE, namespace: "kube-node-lease" },
};
const POD: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "elsewhere", namespace: "default" },
  spec: { nodeName: OTHER_NODE, containers: [{ name: "app", image: "busybox" }] },
};

export interface ForeignSight {
  readonly world: World;
  readonly node: SimNode;
  /** Bind-mounts `source` at `target` from outside the agent. */
  readonly plantBind: (source: string, target: string) => void;
  readonly violation: (text: string) => void;
}

interface Foreign {
  readonly what: string;
  readonly isUnchanged: () => boolean;
}

export class ForeignOracle {
  readonly #sight: ForeignSight;
  readonly #all: Foreign[] = [];
  #boots: number;

  constructor(sight: ForeignSight) {
    this.#sight = sight;
    this.#boots = sight.node.boots;
  }

  /** Places foreign items of every kind in the world. */
  place(): void {
    const { files } = this.#sight.node;
    for (const [path, text] of Object.entries(FILES)) {
      install(files, path, text);
      this.#keepEntry(path);
    }
    this.#placeMount();
    for (const [index, name] of CGROUPS.entries()) this.#placeCgroup(name, FIRST_PID + index);
    this.#placeObject(nodes, NODE);
    this.#placeObject(leases, LEASE);
    this.#placeObject(pods, POD);
  }

  check(): void {
    const { boots } = this.#sight.node;
    // A reboot unmounts everything; the owner of this mount mounts it again.
    if (boots !== this.#boots && this.#all.length > 0) this.#sight.plantBind(MOUNT.source, MOUNT.target);
    this.#boots = boots;
    for (const { what, isUnchanged } of this.#all)
      if (!isUnchanged()) this.#sight.violation(`[12] ${what} is not the agent's, and is no longer as it was`);
  }

  #keepEntry(path: string): void {
    const { disk } = this.#sight.node.files;
    const entry = entryAt(disk, path);
    const before = entry === undefined ? undefined : factsOf(entry);
    this.#all.push({
      what: path,
      isUnchanged: () => entry !== undefined && entryAt(disk, path) === entry && isSame(factsOf(entry), before),
    });
  }

  #placeMount(): void {
    const { files } = this.#sight.node;
    install(files, `${MOUNT.source}/data`, "of a driver\n");
    files.makeDirectory(MOUNT.target, 0o755);
    files.disk.syncName(MOUNT.target);
    this.#sight.plantBind(MOUNT.source, MOUNT.target);
    this.#all.push({
      what: `the mount at ${MOUNT.target}`,
      isUnchanged: () => files.disk.mounts.at(MOUNT.target).length > 0,
    });
  }

  #placeCgroup(name: readonly string[], pid: number): void {
    const { cgroups } = this.#sight.node;
    void cgroups.apply(name, { cpuShares: 77 });
    cgroups.place(pid, name);
    this.#all.push({
      what: `cgroup ${name.join("/")}`,
      isUnchanged: () => cgroups.holds(name, pid) && cgroups.valuesOf(name).cpuShares === 77,
    });
  }

  #placeObject(resource: Resource<ApiObject>, object: ApiObject): void {
    const { store, writes } = this.#sight.world.api;
    const kind = kindOf(resource);
    const { namespace = "", name = "" } = object.metadata ?? {};
    const stored = writes.create(kind, object, ADMIN);
    const isUnchanged = () => store.get(kind, `${namespace}/${name}`) === stored;
    this.#all.push({ what: `${kind.key} ${name}`, isUnchanged });
  }
}

interface EntryFacts {
  readonly content: Uint8Array | undefined;
  readonly mode: number | undefined;
}

const factsOf = (entry: DiskEntry): EntryFacts => ({
  content: entry.kind === "file" ? entry.content : undefined,
  mode: entry.kind === "link" ? undefined : entry.mode,
});

const isSame = (a: EntryFacts, b: EntryFacts | undefined): boolean => a.content === b?.content && a.mode === b?.mode;
