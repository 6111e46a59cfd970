/**
 * The project quotas of emptyDir volumes. They only measure: a volume without one is measured by walking its files, so
 * no failure here fails the volume.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { asksForUsers } from "../../domain/container-config/user-namespace.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { Log } from "../../ports/log.ts";
import type { QuotaObstacle, Quotas } from "../../ports/quotas.ts";

const OBSTACLES: Readonly<Record<QuotaObstacle, string>> = {
  tool: "xfs_quota is not installed",
  filesystem: "the file system is no XFS or ext4 that counts projects (mount option prjquota)",
  path: "the path has a character that /etc/projects cannot express",
  content: "the volume had content before it could get a project quota",
};

export class VolumeQuotas {
  readonly #quotas: Quotas;
  readonly #log: Log;
  readonly #logged = new Set<QuotaObstacle>();

  constructor(quotas: Quotas, log: Log) {
    this.#quotas = quotas;
    this.#log = log;
  }

  /**
   * Returns the project of a volume; undefined: its files are to be walked. Like the Go kubelet, only for a pod with its
   * own user namespace: without one, root in a container can leave the project.
   */
  async assign(pod: Pod, path: string, signal: AbortSignal): Promise<number | undefined> {
    if (!asksForUsers(pod)) return undefined;
    try {
      const assignment = await this.#quotas.assign(path, signal);
      if (assignment.kind === "assigned") return assignment.project;
      this.#logObstacle(assignment.why, path);
    } catch (error) {
      signal.throwIfAborted();
      const { uid } = podNameOfObject(pod);
      this.#log.error("Failed to assign a project quota, the volume's files are walked instead", error, { uid, path });
    }
    return undefined;
  }

  /** Releases the projects of removed volumes at and below this directory. What fails, the next start repeats. */
  async releaseRemoved(directory: string, signal: AbortSignal): Promise<void> {
    try {
      const released = await this.#quotas.releaseRemoved(directory, signal);
      if (released.length > 0) this.#log.info(4, "Released project quotas of removed volumes", { paths: released });
    } catch (error) {
      if (!signal.aborted)
        this.#log.error("Failed to release project quotas of removed volumes", error, { path: directory });
    }
  }

  #logObstacle(why: QuotaObstacle, path: string): void {
    if (this.#logged.has(why)) return;
    this.#logged.add(why);
    this.#log.info(0, "Volumes without project quota are measured by walking their files", {
      path,
      reason: OBSTACLES[why],
    });
  }
}
