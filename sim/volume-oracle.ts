/**
 * What must never happen to volumes, checked after every event against the truth of the world: the kernel's table, the disk, the processes. Numbers in
 * brackets are those of the safety list the project holds itself to.
 *
 * It also plays the part of the containers: each writes a marker into the empty folders it was given, and that marker is there as long as the pod is.
 */
import type { Pod, Volume } from "../src/api/gen/core-v1.ts";
import { podFolder } from "../src/domain/pod/pod-names.ts";
import type { ContainerMount } from "../src/domain/runtime/container.ts";
import { markerFolder, subPathsFolder, volumeFolder } from "../src/domain/volumes/layout.ts";
import type { DiskMount } from "./disk-mounts.ts";
import { type DiskEntry, type DiskFile, type DiskFolder, newFile } from "./fake-disk.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";
import type { SimNode } from "./sim-node.ts";
import { entryAt, folderAt, namesOfSet, visibleFiles } from "./workload/disk-view.ts";
import { filePluginOf, flawsOf } from "./workload/file-volume-rules.ts";
import { toldBy } from "./workload/telling-objects.ts";

/** An object whose values do not say whose they are. */
export const UNTOLD = "untold";
export const ROOT = "/var/lib/kubelet";
const PODS = `${ROOT}/pods`;
const JOURNAL = `${ROOT}/deckhand/journal`;
const DEVICE_MOUNTS = `${ROOT}/plugins/kubernetes.io/local-volume/mounts/`;
/** Of what containers write: theirs alone. */
const MARKER_MODE = 0o600;
const UID_OF_PATH = /^\/var\/lib\/kubelet\/pods\/(?<uid>[^/]+)\//;

export interface VolumeOracleParts {
  readonly node: SimNode;
  /** The newest that was seen of a pod of the API server, also when it is gone. */
  readonly podOf: (uid: string) => Pod | undefined;
  /** All that were ever seen. */
  readonly pods: () => readonly Pod[];
  readonly isGone: (uid: string) => boolean;
  /** The journal has its terminal phase, whatever its restart policy says: another pod may have needed its place. */
  readonly hasEnded: (uid: string) => boolean;
  readonly violation: (text: string) => void;
}

/** What a running container has mounted, and what was there when it began. */
interface Use {
  readonly record: Readonly<ContainerRecord>;
  readonly pod: Pod;
  readonly seen: readonly { readonly path: string; readonly entry: DiskEntry }[];
}

interface Guard {
  readonly path: string;
  /** What is there now. */
  readonly look: () => DiskEntry | undefined;
  readonly file: DiskFile;
  readonly content: Uint8Array;
  /** Whose it is; undefined: it must outlive everything. */
  readonly uid: string | undefined;
}

export class VolumeOracle {
  readonly #parts: VolumeOracleParts;
  readonly #created = new Set<string>();
  /** Made after their pods' end. */
  readonly #unchecked = new Set<string>();
  /** By pod and container, the newest that was seen. */
  readonly #newest = new Map<string, Readonly<ContainerRecord>>();
  readonly #uses = new Map<string, Use>();
  readonly #names = new Map<string, ReadonlySet<string>>();
  readonly #dirty = new Set<string>();
  readonly #guards = new Map<string, Guard>();
  /** Mounts of somebody else's. */
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

  /** Puts a file there that nobody may ever take away or change. */
  guard(path: string, text: string): void {
    const { files } = this.#parts.node;
    files.makeFolder(path.slice(0, path.lastIndexOf("/")), 0o755);
    this.#plant(path, text, undefined);
  }

  /** As `guard`, on a device that is not mounted yet. */
  guardDevice(device: string, folder: DiskFolder, text: string): void {
    this.#write(folder, "user-data", text, {
      path: `${device}: user-data`,
      uid: undefined,
      look: () => folder.entries.get("user-data"),
    });
  }

  /** Somebody who is not the agent shows `source` at `target`. */
  plantBind(source: string, target: string): void {
    const { files } = this.#parts.node;
    files.makeFolder(target, 0o755);
    const [from, to] = [files.disk.follow(source), files.disk.follow(target)];
    if (from === undefined || to === undefined) throw new Error(`nothing is at ${source}`);
    this.#planted.add(target);
    files.disk.mounts.attach({ ...from.mount, root: from.entry, rootPath: from.path }, to);
  }

  /** Whether what was planted there is still there. */
  isPlanted(target: string): boolean {
    return this.#planted.has(target) && this.#parts.node.files.disk.mounts.at(target).length > 0;
  }

  /** What is still there of a pod's volumes, as a user or the next kubelet would find it. */
  remainsOf(uid: string): readonly string[] {
    const { node } = this.#parts;
    const folder = podFolder(ROOT, uid);
    const mounts = node.files.disk.mounts.all.filter(({ path }) => path.startsWith(`${folder}/`));
    const plugins = folderAt(node.files.disk, `${folder}/volumes`)?.entries ?? new Map<string, DiskEntry>();
    const volumes = [...plugins].flatMap(([plugin, entry]) =>
      entry.kind === "folder" ? [...entry.entries.keys()].map((name) => `${plugin}/${name}`) : [],
    );
    const parts = folderAt(node.files.disk, subPathsFolder(folder));
    return [
      ...mounts.map(({ path }) => `the mount ${path}`),
      ...volumes.map((name) => `the volume ${name}`),
      ...(parts === undefined ? [] : ["parts of volumes"]),
    ];
  }

  /** What is on the node of pods that are over, when everything has had its time. */
  left(isOver: (uid: string) => "gone" | "ended" | "lives"): readonly string[] {
    const { node } = this.#parts;
    const known = new Set(folderAt(node.files.disk, PODS)?.entries.keys() ?? []);
    for (const { path } of node.files.disk.mounts.all) {
      const uid = UID_OF_PATH.exec(path)?.groups?.["uid"];
      if (uid !== undefined) known.add(uid);
    }
    const ofPods = [...known].flatMap((uid) => {
      const state = isOver(uid);
      if (state === "lives") return [];
      const folder = state === "gone" && folderAt(node.files.disk, podFolder(ROOT, uid)) !== undefined;
      return [...this.remainsOf(uid).map((what) => `${uid}: ${what}`), ...(folder ? [`${uid}: its folder`] : [])];
    });
    return [...ofPods, ...this.#idleDevices()];
  }

  /** Devices that are mounted on the node though no pod has them. */
  #idleDevices(): readonly string[] {
    const { all } = this.#parts.node.files.disk.mounts;
    const used = new Set(all.filter(({ path }) => UID_OF_PATH.test(path)).map(({ device }) => device));
    return all
      .filter(({ path, device }) => path.startsWith(DEVICE_MOUNTS) && !used.has(device))
      .map(({ path }) => `the device at ${path}`);
  }

  /** [6] What is mounted is in the journal first, on disk; what a mount comes or goes under is looked at. */
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
    const segments = folderAt(this.#parts.node.files.disk, JOURNAL)?.entries.values() ?? [];
    return [...segments].some((entry) => entry.kind === "file" && Buffer.from(entry.onDisk).includes(needle));
  }

  #look(record: Readonly<ContainerRecord>): void {
    if (!this.#created.has(record.id)) {
      this.#created.add(record.id);
      this.#newest.set(`${uidOf(record)}/${record.config.metadata.name}`, record);
      // A create that was given up when its pod ended may still be done, and nobody starts it: that is looked at when somebody does.
      if (this.#isOver(uidOf(record))) this.#unchecked.add(record.id);
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

  /** [6] A container is made only when all that it mounts is there and whole. */
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
    const folder = volumeFolder(podFolder(ROOT, uid), plugin ?? "empty-dir", volume.name);
    const isMounted = (path: string) => node.files.disk.mounts.at(path).length > 0;
    const flaws: string[] = [];
    if (inMemory && !isMounted(folder)) flaws.push("no memory is mounted");
    if (volume.persistentVolumeClaim !== undefined && !isMounted(mount.hostPath)) flaws.push("nothing is bound");
    if (subPath !== undefined && !isMounted(mount.hostPath)) flaws.push(`the part ${subPath} is not bound`);
    if (plugin !== undefined) flaws.push(...flawsOf(pod, volume, visibleFiles(node.files.disk, folder)));
    flaws.push(...this.#flawsOfOwner(pod, volume, mount.hostPath, subPath));
    const ready = `${markerFolder(podFolder(ROOT, uid), plugin ?? "empty-dir", volume.name)}/ready`;
    const isMarked = plugin !== undefined || volume.emptyDir !== undefined;
    if (isMarked && entryAt(node.files.disk, ready) === undefined) flaws.push("nothing says that it is whole");
    return flaws;
  }

  /** A folder of the pod's own is open to all its users, and to the group that the pod names. */
  #flawsOfOwner(pod: Pod, volume: Volume, path: string, subPath: string | undefined): readonly string[] {
    const isOwn = volume.emptyDir !== undefined || volume.persistentVolumeClaim !== undefined;
    const folder = folderAt(this.#parts.node.files.disk, path);
    if (!isOwn || subPath !== undefined || folder === undefined) return [];
    // What several pods claim is the group's of whoever came first; the others hear of it.
    const group = this.#isShared(volume) ? undefined : pod.spec?.securityContext?.fsGroup;
    const isOpen = volume.emptyDir === undefined || (folder.mode & 0o777) === 0o777;
    return [
      ...(group === undefined || folder.gid === group ? [] : [`the folder is of group ${folder.gid}, not ${group}`]),
      ...(isOpen ? [] : [`the folder has mode ${folder.mode.toString(8)}`]),
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

  /** Variables that a pod takes from objects hold what their keys hold. */
  #flawsOfEnvironment({ config, environment }: Readonly<ContainerRecord>, pod: Pod | undefined): readonly string[] {
    const container = pod?.spec?.containers.find(({ name }) => name === config.metadata.name);
    return (container?.env ?? []).flatMap(({ name, valueFrom }) => {
      const reference = valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef;
      if (reference === undefined || reference.name === UNTOLD) return [];
      const told = toldBy(new TextDecoder().decode(environment.get(name)));
      const isAbsent = environment.get(name) === undefined;
      if (isAbsent && reference.optional === true) return [];
      const isRight = told?.name === reference.name && told?.key === reference.key;
      return isRight ? [] : [`its variable ${name} is not key ${reference.key} of ${reference.name}`];
    });
  }

  /** [6] Nothing is taken from under a running container, and [37] what it sees of written files is the old set or the new. */
  #checkUses(uid: string): void {
    const { disk } = this.#parts.node.files;
    for (const { record, pod, seen } of this.#uses.values()) {
      if (uidOf(record) !== uid) continue;
      const what = `${record.config.metadata.name} of ${pod.metadata?.name}`;
      for (const { path, entry } of seen) {
        // The file that a container's last words go to is the agent's to replace; so is the hosts file.
        if (path.startsWith(`${podFolder(ROOT, uid)}/volume`) && entryAt(disk, path) !== entry)
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
    const folder = volumeFolder(podFolder(ROOT, pod.metadata?.uid ?? ""), plugin, volume.name);
    const set = namesOfSet(disk, folder);
    const visible = new Set([...set].filter((name) => entryAt(disk, `${folder}/${name}`) !== undefined));
    const gone = [...(this.#names.get(folder) ?? [])].filter((name) => set.has(name) && !visible.has(name));
    for (const name of gone) this.#parts.violation(`[37] ${what} lost sight of ${volume.name}/${name}`);
    this.#names.set(folder, visible);
    // A name that the new set brings gets its link last: until then the old names are all there is.
    if (visible.size < set.size) return;
    for (const flaw of flawsOf(pod, volume, visibleFiles(disk, folder)))
      this.#parts.violation(`[37] ${what}: of ${volume.name} ${flaw}`);
  }

  #writeMarkers(record: Readonly<ContainerRecord>, pod: Pod): void {
    for (const { hostPath, containerPath } of record.config.mounts ?? []) {
      const name = /\/volumes\/kubernetes\.io~empty-dir\/(?<name>[^/]+)$/.exec(hostPath)?.groups?.["name"];
      const path = `${hostPath}/written-by-${record.config.metadata.name}`;
      if (name === undefined || this.#guards.has(path)) continue;
      const folder = folderAt(this.#parts.node.files.disk, hostPath);
      if (folder !== undefined) this.#plant(path, `by a container at ${containerPath}\n`, pod.metadata?.uid ?? "");
    }
  }

  #plant(path: string, text: string, uid: string | undefined): void {
    const { disk } = this.#parts.node.files;
    const slash = path.lastIndexOf("/");
    const folder = folderAt(disk, path.slice(0, slash));
    if (folder === undefined) throw new Error(`there is no folder for ${path}`);
    this.#write(folder, path.slice(slash + 1), text, { path, uid, look: () => entryAt(disk, path) });
    if (uid === undefined) disk.syncName(path);
  }

  #write(folder: DiskFolder, name: string, text: string, guard: Pick<Guard, "path" | "uid" | "look">): void {
    const content = new TextEncoder().encode(text);
    const file = newFile(MARKER_MODE, 0n, content);
    file.onDisk = content;
    folder.entries.set(name, file);
    this.#guards.set(guard.path, { ...guard, file, content });
  }

  /** [6] What users wrote stays. */
  #checkGuard(guard: Guard): void {
    const { path, file, content, uid, look } = guard;
    const isSame = file.content === content && (uid === undefined || (file.mode === MARKER_MODE && file.gid === 0));
    if (look() === file && isSame) return;
    if (uid !== undefined && this.#isOver(uid)) {
      this.#guards.delete(path);
      return;
    }
    this.#parts.violation(`[6] what a user wrote to ${path} is gone, or no longer as it was`);
  }

  /** Whether nothing of a pod runs, and nothing will. */
  #isOver(uid: string): boolean {
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

  /** Memory is gone, and of what was on its way to the disk some. */
  #machineRestarted(): void {
    this.#bootId = this.#parts.node.machine.machine.bootId;
    for (const { path, uid } of this.#guards.values()) if (uid !== undefined) this.#guards.delete(path);
    this.#names.clear();
    this.#mounts = new Set();
  }
}

const uidOf = ({ config }: Readonly<ContainerRecord>): string => config.labels?.["io.kubernetes.pod.uid"] ?? "";

/** Whether it has a process, whatever the runtime believes. */
const isAlive = ({ process }: Readonly<ContainerRecord>): boolean => process !== undefined && process.end === undefined;
