/**
 * Invariants of volumes, checked after every event against the actual state of the world: the kernel's mount table, the
 * disk, the processes. Numbers in brackets are those of the project's safety list.
 *
 * The oracle also acts for the containers: each writes a marker into its emptyDir volumes, and that marker stays as
 * long as the pod.
 */
import type { Pod, Volume } from "../src/api/gen/core-v1.ts";
import { podDirectory } from "../src/domain/pod/pod-names.ts";
import type { ContainerMount } from "../src/domain/runtime/container.ts";
import { readyFileDirectory, subPathsDirectory, volumeDirectory } from "../src/domain/volumes/layout.ts";
import type { DiskMount } from "./disk-mounts.ts";
import { type DiskDirectory, type DiskEntry, type DiskFile, newFile } from "./fake-disk.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";
import type { SimNode } from "./sim-node.ts";
import { directoryAt, entryAt, namesOfSet, visibleFiles } from "./workload/disk-view.ts";
import { filePluginOf, flawsOf } from "./workload/file-volume-rules.ts";
import { reportedBy } from "./workload/self-describing-objects.ts";

/** Name of an object whose values do not name their origin. */
export const UNTOLD = "untold";
export const ROOT = "/var/lib/kubelet";
const PODS = `${ROOT}/pods`;
const JOURNAL = `${ROOT}/deckhand/journal`;
const DEVICE_MOUNTS = `${ROOT}/plugins/kubernetes.io/local-volume/mounts/`;
/** Mode of the files that containers write: for their owner only. */
const MARKER_MODE = 0o600;
const UID_OF_PATH = /^\/var\/lib\/kubelet\/pods\/(?<uid>[^/]+)\//;

export interface VolumeOracleParts {
  readonly node: SimNode;
  /** The newest version seen of a pod of the API server, also when the pod is gone. */
  readonly podOf: (uid: string) => Pod | undefined;
  /** All pods that were ever seen. */
  readonly pods: () => readonly Pod[];
  readonly isGone: (uid: string) => boolean;
  /** The journal has the pod's terminal phase, whatever its restartPolicy: the pod may have been preempted. */
  readonly hasEnded: (uid: string) => boolean;
  readonly violation: (text: string) => void;
}

/** What a running container has mounted, and what was there when it started. */
interface Use {
  readonly record: Readonly<ContainerRecord>;
  readonly pod: Pod;
  readonly seen: readonly { readonly path: string; readonly entry: DiskEntry }[];
}

interface Guard {
  readonly path: string;
  /** The entry that is there now. */
  readonly look: () => DiskEntry | undefined;
  readonly file: DiskFile;
  readonly content: Uint8Array;
  /** The UID of the pod that owns the file; undefined: the file must outlive everything. */
  readonly uid: string | undefined;
}

export class VolumeOracle {
  readonly #parts: VolumeOracleParts;
  readonly #created = new Set<string>();
  /** Containers created after their pods had terminated. */
  readonly #unchecked = new Set<string>();
  /** By pod and container name: the newest container seen. */
  readonly #newest = new Map<string, Readonly<ContainerRecord>>();
  readonly #uses = new Map<string, Use>();
  readonly #names = new Map<string, ReadonlySet<string>>();
  readonly #dirty = new Set<string>();
  readonly #guards = new Map<string, Guard>();
  /** Mounts that are not the agent's. */
  readonly #planted = new Set<string>();
  #mounts: ReadonlySet<string> = new Set();
  #table: readonly DiskMount[] = [];
  #bootId: string;

  constructor(parts: VolumeOracleParts) {
    this.#parts = parts;
    const { files, machine } = parts.node;
    this.#bootId = machine.machine.bootId;
    files.onChange = (path) => {
      const uid = UID_OF_PATH.exec(path)?.groups?.["uid"];
      if (uid !== undefined) this.#dirty.add(uid);
    };
  }

  check(): void {
    const { node } = this.#parts;
    if (node.machine.machine.bootId !== this.#bootId) this.#machineRestarted();
    this.#checkMounts();
    for (const record of node.runtime.containers.values()) this.#look(record);
    for (const [id, use] of this.#uses) if (!isAlive(use.record)) this.#uses.delete(id);
    for (const uid of this.#dirty) this.#checkUses(uid);
    this.#dirty.clear();
    for (const guard of this.#guards.values()) this.#checkGuard(guard);
  }

  /** Creates a file that must never be removed or changed. */
  guard(path: string, text: string): void {
    const { files } = this.#parts.node;
    files.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0o755);
    this.#plant(path, text, undefined);
  }

  /** Like `guard`, on a device that is not mounted yet. */
  guardDevice(device: string, directory: DiskDirectory, text: string): void {
    this.#write(directory, "user-data", text, {
      path: `${device}: user-data`,
      uid: undefined,
      look: () => directory.entries.get("user-data"),
    });
  }

  /** Bind-mounts `source` at `target` from outside the agent. */
  plantBind(source: string, target: string): void {
    const { files } = this.#parts.node;
    files.makeDirectory(target, 0o755);
    const [from, to] = [files.disk.follow(source), files.disk.follow(target)];
    if (from === undefined || to === undefined) throw new Error(`nothing is at ${source}`);
    this.#planted.add(target);
    files.disk.mounts.attach({ ...from.mount, root: from.entry, rootPath: from.path }, to);
  }

  /** Whether the foreign mount at `target` still exists. */
  isPlanted(target: string): boolean {
    return this.#planted.has(target) && this.#parts.node.files.disk.mounts.at(target).length > 0;
  }

  /** What is left of a pod's volumes, as a user or the next kubelet would find it. */
  remainsOf(uid: string): readonly string[] {
    const { node } = this.#parts;
    const directory = podDirectory(ROOT, uid);
    const mounts = node.files.disk.mounts.all.filter(({ path }) => path.startsWith(`${directory}/`));
    const plugins = directoryAt(node.files.disk, `${directory}/volumes`)?.entries ?? new Map<string, DiskEntry>();
    const volumes = [...plugins].flatMap(([plugin, entry]) =>
      entry.kind === "directory" ? [...entry.entries.keys()].map((name) => `${plugin}/${name}`) : [],
    );
    const parts = directoryAt(node.files.disk, subPathsDirectory(directory));
    return [
      ...mounts.map(({ path }) => `the mount ${path}`),
      ...volumes.map((name) => `the volume ${name}`),
      ...(parts === undefined ? [] : ["parts of volumes"]),
    ];
  }

  /** What is left on the node of terminated or deleted pods, once everything has settled. */
  left(stateOf: (uid: string) => "gone" | "ended" | "lives"): readonly string[] {
    const { node } = this.#parts;
    const known = new Set(directoryAt(node.files.disk, PODS)?.entries.keys() ?? []);
    for (const { path } of node.files.disk.mounts.all) {
      const uid = UID_OF_PATH.exec(path)?.groups?.["uid"];
      if (uid !== undefined) known.add(uid);
    }
    const ofPods = [...known].flatMap((uid) => {
      const state = stateOf(uid);
      if (state === "lives") return [];
      const directory = state === "gone" && directoryAt(node.files.disk, podDirectory(ROOT, uid)) !== undefined;
      return [...this.remainsOf(uid).map((what) => `${uid}: ${what}`), ...(directory ? [`${uid}: its directory`] : [])];
    });
    return [...ofPods, ...this.#idleDevices()];
  }

  /** Devices that are mounted on the node though no pod uses them. */
  #idleDevices(): readonly string[] {
    const { all } = this.#parts.node.files.disk.mounts;
    const used = new Set(all.filter(({ path }) => UID_OF_PATH.test(path)).map(({ device }) => device));
    return all
      .filter(({ path, device }) => path.startsWith(DEVICE_MOUNTS) && !used.has(device))
      .map(({ path }) => `the device at ${path}`);
  }

  /** [6] A mount is in the journal on disk before it exists. Containers of pods whose mounts changed are checked. */
  #checkMounts(): void {
    const { all } = this.#parts.node.files.disk.mounts;
    if (all === this.#table) return;
    this.#table = all;
    const now = new Set(all.map(({ path }) => path).filter((path) => path.startsWith(`${ROOT}/`)));
    for (const path of now) {
      if (!this.#mounts.has(path) && !this.#planted.has(path) && !this.#isJournalled(path))
        this.#parts.violation(`[6] ${path} was mounted before the journal held it`);
    }
    for (const path of [...now, ...this.#mounts]) {
      const uid = UID_OF_PATH.exec(path)?.groups?.["uid"];
      if (uid !== undefined && now.has(path) !== this.#mounts.has(path)) this.#dirty.add(uid);
    }
    this.#mounts = now;
  }

  #isJournalled(path: string): boolean {
    const needle = Buffer.from(JSON.stringify(path));
    const segments = directoryAt(this.#parts.node.files.disk, JOURNAL)?.entries.values() ?? [];
    return [...segments].some((entry) => entry.kind === "file" && Buffer.from(entry.onDisk).includes(needle));
  }

  #look(record: Readonly<ContainerRecord>): void {
    if (!this.#created.has(record.id)) {
      this.#created.add(record.id);
      this.#newest.set(`${uidOf(record)}/${record.config.metadata.name}`, record);
      // A create that was aborted at its pod's end may still complete. Such a container is checked only if it is
      // started.
      if (this.#hasEnded(uidOf(record))) this.#unchecked.add(record.id);
      else this.#checkCreated(record);
    }
    if (!isAlive(record) || this.#uses.has(record.id)) return;
    if (this.#unchecked.delete(record.id)) this.#checkCreated(record);
    const pod = this.#parts.podOf(uidOf(record));
    if (pod === undefined) return;
    const { disk } = this.#parts.node.files;
    const seen = (record.config.mounts ?? []).flatMap(({ hostPath }) => {
      const entry = hostPath.startsWith(`${PODS}/`) ? entryAt(disk, hostPath) : undefined;
      return entry === undefined ? [] : [{ path: hostPath, entry }];
    });
    this.#uses.set(record.id, { record, pod, seen });
    this.#writeMarkers(record, pod);
  }

  /** [6] A container is created only when everything it mounts is there and complete. */
  #checkCreated(record: Readonly<ContainerRecord>): void {
    const uid = uidOf(record);
    const pod = this.#parts.podOf(uid);
    const { disk } = this.#parts.node.files;
    const name = record.config.metadata.name;
    const what = `${name} of ${pod?.metadata?.name ?? uid}`;
    const container = pod?.spec?.containers.find((each) => each.name === name);
    const mounts = new Map((record.config.mounts ?? []).map((mount) => [mount.containerPath, mount]));
    for (const { hostPath, containerPath, image } of mounts.values()) {
      if (image === undefined && hostPath !== "" && entryAt(disk, hostPath) === undefined)
        this.#parts.violation(`[6] ${what} was made while nothing was at ${hostPath}, its ${containerPath}`);
    }
    for (const wanted of container?.volumeMounts ?? []) {
      const volume = pod?.spec?.volumes?.find((each) => each.name === wanted.name);
      const mount = mounts.get(wanted.mountPath);
      if (pod === undefined || volume === undefined) continue;
      if (mount === undefined) this.#parts.violation(`[6] ${what} was made without its volume ${wanted.name}`);
      else
        for (const flaw of this.#flawsOfVolume(pod, volume, mount, wanted.subPath))
          this.#parts.violation(`[6] ${what} was made though of its volume ${volume.name} ${flaw}`);
    }
    for (const flaw of this.#flawsOfEnvironment(record, pod)) this.#parts.violation(`[6] ${what}: ${flaw}`);
  }

  #flawsOfVolume(pod: Pod, volume: Volume, mount: ContainerMount, subPath: string | undefined): readonly string[] {
    const { node } = this.#parts;
    const uid = pod.metadata?.uid ?? "";
    const plugin = filePluginOf(volume);
    const inMemory = plugin === undefined ? volume.emptyDir?.medium === "Memory" : plugin !== "configmap";
    const directory = volumeDirectory(podDirectory(ROOT, uid), plugin ?? "empty-dir", volume.name);
    const isMounted = (path: string) => node.files.disk.mounts.at(path).length > 0;
    const flaws: string[] = [];
    if (inMemory && !isMounted(directory)) flaws.push("no memory is mounted");
    if (volume.persistentVolumeClaim !== undefined && !isMounted(mount.hostPath)) flaws.push("nothing is bound");
    if (subPath !== undefined && !isMounted(mount.hostPath)) flaws.push(`the part ${subPath} is not bound`);
    if (plugin !== undefined) flaws.push(...flawsOf(pod, volume, visibleFiles(node.files.disk, directory)));
    flaws.push(...this.#flawsOfOwner(pod, volume, mount.hostPath, subPath));
    const ready = `${readyFileDirectory(podDirectory(ROOT, uid), plugin ?? "empty-dir", volume.name)}/ready`;
    const isMarked = plugin !== undefined || volume.emptyDir !== undefined;
    if (isMarked && entryAt(node.files.disk, ready) === undefined) flaws.push("nothing says that it is whole");
    return flaws;
  }

  /** An emptyDir is open to all users. An emptyDir or claimed directory belongs to the pod's fsGroup. */
  #flawsOfOwner(pod: Pod, volume: Volume, path: string, subPath: string | undefined): readonly string[] {
    const isOwn = volume.emptyDir !== undefined || volume.persistentVolumeClaim !== undefined;
    const directory = directoryAt(this.#parts.node.files.disk, path);
    if (!isOwn || subPath !== undefined || directory === undefined) return [];
    // A claim of several pods belongs to the fsGroup of the first pod; the others get an event.
    const group = this.#isShared(volume) ? undefined : pod.spec?.securityContext?.fsGroup;
    const isOpen = volume.emptyDir === undefined || (directory.mode & 0o777) === 0o777;
    return [
      ...(group === undefined || directory.gid === group
        ? []
        : [`the directory is of group ${directory.gid}, not ${group}`]),
      ...(isOpen ? [] : [`the directory has mode ${directory.mode.toString(8)}`]),
    ];
  }

  #isShared({ persistentVolumeClaim: claim }: Volume): boolean {
    if (claim === undefined) return false;
    const claims = this.#parts
      .pods()
      .filter(({ spec }) =>
        spec?.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === claim.claimName),
      );
    return claims.length > 1;
  }

  /** Environment variables from ConfigMaps and Secrets hold the values of their keys. */
  #flawsOfEnvironment({ config, environment }: Readonly<ContainerRecord>, pod: Pod | undefined): readonly string[] {
    const container = pod?.spec?.containers.find(({ name }) => name === config.metadata.name);
    return (container?.env ?? []).flatMap(({ name, valueFrom }) => {
      const reference = valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef;
      if (reference === undefined || reference.name === UNTOLD) return [];
      const reported = reportedBy(new TextDecoder().decode(environment.get(name)));
      const isAbsent = environment.get(name) === undefined;
      if (isAbsent && reference.optional === true) return [];
      const isRight = reported?.name === reference.name && reported?.key === reference.key;
      return isRight ? [] : [`its variable ${name} is not key ${reference.key} of ${reference.name}`];
    });
  }

  /** [6] Nothing is removed under a running container. [37] Its view of written files is the old set or the new one. */
  #checkUses(uid: string): void {
    const { disk } = this.#parts.node.files;
    for (const { record, pod, seen } of this.#uses.values()) {
      if (uidOf(record) !== uid) continue;
      const what = `${record.config.metadata.name} of ${pod.metadata?.name}`;
      for (const { path, entry } of seen) {
        // The agent may replace the termination message file and the hosts file.
        if (path.startsWith(`${podDirectory(ROOT, uid)}/volume`) && entryAt(disk, path) !== entry)
          this.#parts.violation(`[6] ${path} was taken from under ${what}, which runs`);
      }
      const used = new Set(
        pod.spec?.containers.flatMap(({ volumeMounts }) => volumeMounts?.map(({ name }) => name) ?? []),
      );
      for (const volume of pod.spec?.volumes ?? []) if (used.has(volume.name)) this.#checkFiles(pod, volume, what);
    }
  }

  #checkFiles(pod: Pod, volume: Volume, what: string): void {
    const plugin = filePluginOf(volume);
    if (plugin === undefined) return;
    const { disk } = this.#parts.node.files;
    const directory = volumeDirectory(podDirectory(ROOT, pod.metadata?.uid ?? ""), plugin, volume.name);
    const set = namesOfSet(disk, directory);
    const visible = new Set([...set].filter((name) => entryAt(disk, `${directory}/${name}`) !== undefined));
    const gone = [...(this.#names.get(directory) ?? [])].filter((name) => set.has(name) && !visible.has(name));
    for (const name of gone) this.#parts.violation(`[37] ${what} lost sight of ${volume.name}/${name}`);
    this.#names.set(directory, visible);
    // A new name of the new set is linked last: until then only the old names exist.
    if (visible.size < set.size) return;
    for (const flaw of flawsOf(pod, volume, visibleFiles(disk, directory)))
      this.#parts.violation(`[37] ${what}: of ${volume.name} ${flaw}`);
  }

  #writeMarkers(record: Readonly<ContainerRecord>, pod: Pod): void {
    for (const { hostPath, containerPath } of record.config.mounts ?? []) {
      const name = /\/volumes\/kubernetes\.io~empty-dir\/(?<name>[^/]+)$/.exec(hostPath)?.groups?.["name"];
      const path = `${hostPath}/written-by-${record.config.metadata.name}`;
      if (name === undefined || this.#guards.has(path)) continue;
      const directory = directoryAt(this.#parts.node.files.disk, hostPath);
      if (directory !== undefined) this.#plant(path, `by a container at ${containerPath}\n`, pod.metadata?.uid ?? "");
    }
  }

  #plant(path: string, text: string, uid: string | undefined): void {
    const { disk } = this.#parts.node.files;
    const slash = path.lastIndexOf("/");
    const directory = directoryAt(disk, path.slice(0, slash));
    if (directory === undefined) throw new Error(`there is no directory for ${path}`);
    this.#write(directory, path.slice(slash + 1), text, { path, uid, look: () => entryAt(disk, path) });
    if (uid === undefined) disk.syncName(path);
  }

  #write(directory: DiskDirectory, name: string, text: string, guard: Pick<Guard, "path" | "uid" | "look">): void {
    const content = new TextEncoder().encode(text);
    const file = newFile(MARKER_MODE, 0n, content);
    file.onDisk = content;
    directory.entries.set(name, file);
    this.#guards.set(guard.path, { ...guard, file, content });
  }

  /** [6] Files that users wrote stay unchanged. */
  #checkGuard(guard: Guard): void {
    const { path, file, content, uid, look } = guard;
    const isSame = file.content === content && (uid === undefined || (file.mode === MARKER_MODE && file.gid === 0));
    if (look() === file && isSame) return;
    if (uid !== undefined && this.#hasEnded(uid)) {
      this.#guards.delete(path);
      return;
    }
    this.#parts.violation(`[6] what a user wrote to ${path} is gone, or no longer as it was`);
  }

  /** Whether no container of the pod runs, and none will run. */
  #hasEnded(uid: string): boolean {
    if ([...this.#uses.values()].some(({ record }) => uidOf(record) === uid)) return false;
    const pod = this.#parts.podOf(uid);
    if (
      pod === undefined ||
      this.#parts.isGone(uid) ||
      this.#parts.hasEnded(uid) ||
      pod.metadata?.deletionTimestamp !== undefined
    )
      return true;
    const policy = pod.spec?.restartPolicy ?? "Always";
    return (pod.spec?.containers ?? []).every(({ name }) => {
      const last = this.#newest.get(`${uid}/${name}`);
      if (last?.state !== "exited") return false;
      return policy === "Never" || (policy === "OnFailure" && last.exitCode === 0);
    });
  }

  /** A reboot loses tmpfs content and some unsynced writes. */
  #machineRestarted(): void {
    this.#bootId = this.#parts.node.machine.machine.bootId;
    for (const { path, uid } of this.#guards.values()) if (uid !== undefined) this.#guards.delete(path);
    this.#names.clear();
    this.#mounts = new Set();
  }
}

const uidOf = ({ config }: Readonly<ContainerRecord>): string => config.labels?.["io.kubernetes.pod.uid"] ?? "";

/** Whether the container has a live process, whatever the runtime reports. */
const isAlive = ({ process }: Readonly<ContainerRecord>): boolean => process !== undefined && process.end === undefined;
