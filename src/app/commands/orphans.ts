/**
 * `deckhand orphans list|explain|clean`: finds directories on this node's disk that belong to terminated or unknown
 * pods. It queries the kernel, the runtime and the journal, never the agent, so that it works with and without one.
 * `clean` does only what the agent would do: it unmounts what the agent mounted. It never removes anything at or below
 * a mount point that the agent did not make.
 */

import { readJournal } from "../../controllers/journal/read-journal.ts";
import { VOLUME_PLUGINS } from "../../controllers/volumes/plugins/volume-plugins.ts";
import { StagedVolumes } from "../../controllers/volumes/staged-volumes.ts";
import { readMounted, type TearDownPorts, tearDown } from "../../controllers/volumes/tear-down.ts";
import { foldJournaledPods, type JournaledPod } from "../../domain/journal/journaled-pod.ts";
import { podDirectory } from "../../domain/pod/pod-names.ts";
import { keptBecause, type Orphan, orphanOf, type PodOnDisk } from "../../domain/volumes/orphans.ts";
import { listIfThere } from "../../ports/host-files.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { CommandIo } from "./io.ts";
import type { OutputFormat } from "./own-flags.ts";

export interface OrphanPorts extends TearDownPorts {
  readonly runtime: Pick<Runtime, "listSandboxes">;
}

export interface OrphanWork {
  readonly ports: OrphanPorts;
  readonly rootDir: string;
  readonly io: CommandIo;
  readonly signal: AbortSignal;
}

export async function listOrphans(work: OrphanWork, output: OutputFormat): Promise<number> {
  const orphans = (await podsOnDisk(work)).flatMap((pod) => orphanOf(pod) ?? []);
  if (output === "json") {
    work.io.stdout(asJson(orphans));
    return 0;
  }
  if (orphans.length === 0) {
    work.io.stdout("No orphaned pod directories found.\n");
    return 0;
  }
  const rows = orphans.map(({ uid, pod, plan, obstacles }) => [
    uid,
    pod || "-",
    String(plan.volumes.length),
    String(plan.volumes.filter(({ unmount }) => unmount).length + plan.subPaths.length),
    obstacles.length === 0
      ? "can be cleaned"
      : `held: ${obstacles.length === 1 ? obstacles[0] : `${obstacles.length} obstacles`}`,
  ]);
  work.io.stdout(aligned([["UID", "POD", "VOLUMES", "MOUNTS", "STATE"], ...rows]));
  return 0;
}

export async function explainOrphan(work: OrphanWork, uid: string, output: OutputFormat): Promise<number> {
  const pod = (await podsOnDisk(work)).find((each) => each.uid === uid);
  if (pod === undefined) {
    work.io.stderr(`error: no pod directory ${uid} exists below ${work.rootDir}/pods\n`);
    return 1;
  }
  const orphan = orphanOf(pod);
  if (orphan === undefined) {
    work.io.stderr(`error: ${uid} is not orphaned: ${keptBecause(pod)}\n`);
    return 1;
  }
  work.io.stdout(output === "json" ? asJson(orphan) : explanation(orphan));
  return 0;
}

export async function cleanOrphans(work: OrphanWork, uids: readonly string[]): Promise<number> {
  const pods = await podsOnDisk(work);
  const chosen = uids.length === 0 ? pods : pods.filter(({ uid }) => uids.includes(uid));
  let failed = 0;
  for (const uid of uids.filter((each) => !pods.some((pod) => pod.uid === each))) {
    work.io.stderr(`${uid}: no such pod directory exists\n`);
    failed += 1;
  }
  for (const pod of chosen) {
    const orphan = orphanOf(pod);
    if (orphan === undefined) {
      if (uids.length === 0) continue;
      work.io.stderr(`${pod.uid}: not orphaned: ${keptBecause(pod)}\n`);
      failed += 1;
    } else if (!(await clean(orphan, pod, work))) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

async function clean({ uid, obstacles }: Orphan, { mounts }: PodOnDisk, work: OrphanWork): Promise<boolean> {
  const { ports, rootDir, io, signal } = work;
  if (obstacles.length > 0) {
    for (const obstacle of obstacles) io.stderr(`${uid}: not removed: ${obstacle}\n`);
    return false;
  }
  const outcome = await tearDown({
    podDirectory: mounts.podDirectory,
    journaledMounts: mounts.journaledMounts,
    ports,
    rootDir,
    plugins: VOLUME_PLUGINS,
    staged: new StagedVolumes(),
    mustUnmountLazily: () => false,
    onUnresponsive: () => {},
    onLazyUnmount: () => {},
    signal,
  });
  if (outcome.kind === "left") {
    for (const trouble of outcome.troubles.values()) io.stderr(`${uid}: failed: ${trouble}\n`);
    return false;
  }
  await ports.mounts.removeTree(mounts.podDirectory, signal);
  io.stdout(`${uid}: removed\n`);
  return true;
}

async function podsOnDisk({ ports, rootDir, signal }: OrphanWork): Promise<readonly PodOnDisk[]> {
  const uids = await listIfThere(ports.files, `${rootDir}/pods`);
  const sandboxes = await ports.runtime.listSandboxes({}, signal);
  const known = new Set(sandboxes.map(({ metadata }) => metadata.uid));
  const journaledPods: ReadonlyMap<string, JournaledPod> = foldJournaledPods(
    await readJournal(ports.files, `${rootDir}/deckhand/journal`),
  );
  const pods: PodOnDisk[] = [];
  for (const uid of uids) {
    const journaledMounts = new Set(journaledPods.get(uid)?.mounts.keys());
    const mounts = await readMounted(podDirectory(rootDir, uid), journaledMounts, VOLUME_PLUGINS, ports);
    pods.push({ uid, mounts, journaledPod: journaledPods.get(uid), inRuntime: known.has(uid) });
  }
  return pods;
}

function explanation({ uid, pod, why, plan, obstacles }: Orphan): string {
  const lines = [`${uid}${pod === "" ? "" : ` (${pod})`} is an orphan: ${why}.`];
  for (const path of plan.subPaths) lines.push(`  mounted subPath: ${path}`);
  for (const { path, unmount, empties } of plan.volumes) {
    const does = [...(unmount ? ["unmounted"] : []), empties ? "removed with its contents" : "removed if empty"];
    lines.push(`  volume, to be ${does.join(" and ")}: ${path}`);
  }
  for (const obstacle of obstacles) lines.push(`  obstacle: ${obstacle}`);
  lines.push(
    obstacles.length === 0
      ? "  `deckhand orphans clean` removes it."
      : "  `deckhand orphans clean` does not remove it.",
  );
  return `${lines.join("\n")}\n`;
}

const asJson = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length))) ?? [];
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
