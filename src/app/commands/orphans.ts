/**
 * `deckhand orphans list|explain|clean`: folders of pods that are over, on the disk of this node. It asks the kernel, the runtime and the journal, never
 * the agent, so that it works with and without one. `clean` does what the agent would do and nothing more: it unmounts what is ours, and never removes
 * anything at or below a mount point that is not.
 */

import { readJournal } from "../../controllers/journal/look.ts";
import { VOLUME_PLUGINS } from "../../controllers/volumes/plugins/volume-plugins.ts";
import { StagedVolumes } from "../../controllers/volumes/staged-volumes.ts";
import { readRemains, type TakeAwayPorts, takeAway } from "../../controllers/volumes/take-away.ts";
import { foldFacts, type UidFacts } from "../../domain/journal/facts.ts";
import { podFolder } from "../../domain/pod/pod-names.ts";
import { keptBecause, type Orphan, orphanOf, type PodOnDisk } from "../../domain/volumes/orphans.ts";
import { listIfThere } from "../../ports/host-files.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { CommandIo } from "./io.ts";

export interface OrphanPorts extends TakeAwayPorts {
  readonly runtime: Pick<Runtime, "listSandboxes">;
}

export interface OrphanWork {
  readonly ports: OrphanPorts;
  readonly rootDir: string;
  readonly io: CommandIo;
  readonly signal: AbortSignal;
}

export async function listOrphans(work: OrphanWork): Promise<number> {
  const orphans = (await podsOnDisk(work)).flatMap((pod) => orphanOf(pod) ?? []);
  if (orphans.length === 0) {
    work.io.stdout("no orphans\n");
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

export async function explainOrphan(work: OrphanWork, uid: string): Promise<number> {
  const pod = (await podsOnDisk(work)).find((each) => each.uid === uid);
  if (pod === undefined) {
    work.io.stderr(`error: there is no folder of a pod ${uid} below ${work.rootDir}/pods\n`);
    return 1;
  }
  const orphan = orphanOf(pod);
  if (orphan === undefined) work.io.stdout(`${uid} is no orphan: ${keptBecause(pod)}\n`);
  else work.io.stdout(explanation(orphan));
  return 0;
}

export async function cleanOrphans(work: OrphanWork, uids: readonly string[]): Promise<number> {
  const pods = await podsOnDisk(work);
  const chosen = uids.length === 0 ? pods : pods.filter(({ uid }) => uids.includes(uid));
  let failed = 0;
  for (const uid of uids.filter((each) => !pods.some((pod) => pod.uid === each))) {
    work.io.stderr(`${uid}: there is no such folder\n`);
    failed += 1;
  }
  for (const pod of chosen) {
    const orphan = orphanOf(pod);
    if (orphan === undefined) {
      if (uids.length === 0) continue;
      work.io.stderr(`${pod.uid}: is no orphan: ${keptBecause(pod)}\n`);
      failed += 1;
    } else if (!(await clean(orphan, pod, work))) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

async function clean({ uid, obstacles }: Orphan, { remains }: PodOnDisk, work: OrphanWork): Promise<boolean> {
  const { ports, rootDir, io, signal } = work;
  if (obstacles.length > 0) {
    for (const obstacle of obstacles) io.stderr(`${uid}: left alone: ${obstacle}\n`);
    return false;
  }
  const outcome = await takeAway({
    podFolder: remains.podFolder,
    ledger: remains.ledger,
    ports,
    rootDir,
    plugins: VOLUME_PLUGINS,
    staged: new StagedVolumes(),
    mustLetGo: () => false,
    onSilence: () => {},
    onLetGo: () => {},
    signal,
  });
  if (outcome.kind === "left") {
    for (const trouble of outcome.troubles.values()) io.stderr(`${uid}: left: ${trouble}\n`);
    return false;
  }
  await ports.mounts.removeTree(remains.podFolder, signal);
  io.stdout(`${uid}: removed\n`);
  return true;
}

async function podsOnDisk({ ports, rootDir, signal }: OrphanWork): Promise<readonly PodOnDisk[]> {
  const uids = await listIfThere(ports.files, `${rootDir}/pods`);
  const sandboxes = await ports.runtime.listSandboxes({}, signal);
  const known = new Set(sandboxes.map(({ metadata }) => metadata.uid));
  const facts: ReadonlyMap<string, UidFacts> = foldFacts(await readJournal(ports.files, `${rootDir}/deckhand/journal`));
  const pods: PodOnDisk[] = [];
  for (const uid of uids) {
    const ledger = new Set(facts.get(uid)?.mounts.keys());
    const remains = await readRemains(podFolder(rootDir, uid), ledger, VOLUME_PLUGINS, ports);
    pods.push({ uid, remains, facts: facts.get(uid), inRuntime: known.has(uid) });
  }
  return pods;
}

function explanation({ uid, pod, why, plan, obstacles }: Orphan): string {
  const lines = [`${uid}${pod === "" ? "" : ` (${pod})`} is an orphan: ${why}.`];
  for (const path of plan.subPaths) lines.push(`  part of a volume, mounted: ${path}`);
  for (const { path, unmount, empties } of plan.volumes) {
    const does = [...(unmount ? ["unmounted"] : []), empties ? "removed with what it holds" : "removed if empty"];
    lines.push(`  volume, would be ${does.join(" and ")}: ${path}`);
  }
  for (const obstacle of obstacles) lines.push(`  in the way: ${obstacle}`);
  lines.push(
    obstacles.length === 0 ? "  `deckhand orphans clean` removes it." : "  `deckhand orphans clean` leaves it alone.",
  );
  return `${lines.join("\n")}\n`;
}

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
