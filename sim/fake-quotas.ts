/**
 * The Quotas port over the fake disk. It passes the contract of xfs_quota on a real file system. Projects outlive
 * agents and crashes of the machine, as the synced /etc/projects does.
 */
import { type DiskUsage, MountError } from "../src/ports/mounts.ts";
import type { QuotaAssignment, QuotaObstacle, Quotas } from "../src/ports/quotas.ts";
import type { FakeFiles } from "./fake-files.ts";
import type { FakeMounts } from "./fake-mounts.ts";

const FIRST_PROJECT = 1_048_577;

const isWithin = (path: string, directory: string) => path === directory || path.startsWith(`${directory}/`);

export class FakeQuotas implements Quotas {
  /** Directories at and below which projects are counted. */
  readonly counted = new Set<string>();
  /** Why no directory gets a project. */
  obstacle: QuotaObstacle | undefined;
  /** Projects by directory. */
  readonly projects = new Map<string, number>();
  /** Every directory that ever got a project. */
  readonly assigned: (readonly [path: string, project: number])[] = [];
  /** Sizes of open files without a name, by project. */
  readonly #hidden = new Map<number, number[]>();
  readonly #files: FakeFiles;
  readonly #mounts: FakeMounts;

  constructor(files: FakeFiles, mounts: FakeMounts) {
    this.#files = files;
    this.#mounts = mounts;
  }

  /** An open file without a name in this directory. */
  hide(path: string, bytes: number): void {
    const project = this.projects.get(path);
    if (project !== undefined) this.#hidden.set(project, [...(this.#hidden.get(project) ?? []), bytes]);
  }

  async assign(path: string, signal: AbortSignal): Promise<QuotaAssignment> {
    signal.throwIfAborted();
    const directory = this.#files.disk.directory(path);
    if (directory === undefined) throw new MountError("assign a project to", path, "notFound", "it does not exist");
    const known = this.projects.get(path);
    if (known !== undefined) return { kind: "assigned", project: known };
    const isCounted = [...this.counted].some((root) => isWithin(path, root));
    const why = this.obstacle ?? (isCounted ? undefined : "filesystem");
    if (why !== undefined) return { kind: "unavailable", why };
    if (directory.entries.size > 0) return { kind: "unavailable", why: "content" };
    const project = this.#unusedProject();
    this.projects.set(path, project);
    this.assigned.push([path, project]);
    return { kind: "assigned", project };
  }

  async usage(path: string, project: number, signal: AbortSignal): Promise<DiskUsage> {
    if (this.projects.get(path) !== project)
      throw new MountError("measure the project of", path, "other", `project ${project} has no files`);
    const { usage = { bytes: 0, inodes: 0 } } = await this.#mounts.measure(path, "walk", signal);
    const hidden = this.#hidden.get(project) ?? [];
    return { bytes: hidden.reduce((sum, bytes) => sum + bytes, usage.bytes), inodes: usage.inodes + hidden.length };
  }

  async releaseRemoved(directory: string, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const isGone = (path: string) => isWithin(path, directory) && this.#files.disk.find(path) === undefined;
    const removed = [...this.projects.keys()].filter(isGone);
    for (const path of removed) this.projects.delete(path);
    return removed;
  }

  #unusedProject(): number {
    const used = new Set([...this.projects.values(), ...this.#hidden.keys()]);
    for (let project = FIRST_PROJECT; ; project += 1) if (!used.has(project)) return project;
  }
}
