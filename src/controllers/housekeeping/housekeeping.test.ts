import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeCgroups } from "../../../sim/fake-cgroups.ts";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { admittedVerdict, pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import { HostFileError } from "../../ports/host-files.ts";
import { cleanUpOrphans } from "./orphan-cleanup.ts";

const [ROOT, LOGS, LINKS] = ["/root", "/logs", "/links"] as const;
const BESTEFFORT = ["kubepods", "besteffort"] as const;

function world() {
  const clock = new ManualClock();
  const end = new AbortController();
  const files = new FakeFiles({ clock });
  for (const directory of [`${ROOT}/pods`, LOGS, LINKS]) files.makeDirectory(directory, 0o755);
  const log = keptLog();
  const cells = {
    admittedPods: new LatestTable<string, AdmittedPod>(),
    podOutcomes: new LatestTable<string, PodOutcome>(),
    podRuntimeStatus: new LatestTable<string, PodRuntimeView>(),
    mountState: new LatestTable<string, PodVolumes>(),
    volumesKnown: new LatestCell(true),
    sourcesReady: new LatestCell(true),
  };
  const directories = { rootDir: ROOT, podLogsDir: LOGS, containerLogLinks: LINKS };
  const common = { ...cells, ...directories, files: files.port, clock, log };
  return { clock, end, files, log, cells, common };
}

/**
 * Leftovers of three pods: a known one, one with data in a volume, and one with only the empty directory of a volume
 * plugin.
 */
async function litter(files: FakeFiles): Promise<FakeCgroups> {
  const cgroups = new FakeCgroups();
  for (const uid of ["gone", "known", "holding"]) {
    for (const directory of ["volumes", "plugins", "containers/app"])
      files.makeDirectory(`${ROOT}/pods/${uid}/${directory}`, 0o750);
    files.makeDirectory(`${LOGS}/ns_p_${uid}/app`, 0o755);
    await cgroups.apply([...BESTEFFORT, `pod${uid}`], {});
  }
  files.makeDirectory(`${ROOT}/pods/gone/volumes/kubernetes.io~secret`, 0o750);
  files.makeDirectory(`${ROOT}/pods/holding/volumes/kubernetes.io~empty-dir/v`, 0o750);
  files.makeDirectory(`${LOGS}/somebody-elses`, 0o755);
  await files.port.link(`${LOGS}/ns_p_gone/app/0.log`, `${LINKS}/p_ns_app-1.log`);
  return cgroups;
}

test("[6.11][6.12][19.1] leftovers of unknown pods are removed, except the directory and cgroup of a pod with volume data", async () => {
  const { clock, end, files, log, cells, common } = world();
  const cgroups = await litter(files);
  const verdict = admittedVerdict(pod());
  cells.admittedPods.set("known", { uid: "known", pod: pod(), isStatic: false, firstSeenWallMs: 0, verdict });
  const running = cleanUpOrphans({ ...common, cgroups, podParents: [BESTEFFORT] }, end.signal);
  await clock.advance(30_000);
  assert.deepEqual(await files.port.list(`${ROOT}/pods`), ["holding", "known"]);
  assert.deepEqual(await files.port.list(`${ROOT}/pods/holding/volumes/kubernetes.io~empty-dir`), ["v"]);
  assert.deepEqual(await files.port.list(LOGS), ["ns_p_known", "somebody-elses"]);
  assert.deepEqual(await files.port.list(LINKS), []);
  assert.deepEqual(await cgroups.children(BESTEFFORT), ["podholding", "podknown"]);
  assert.equal(cgroups.valuesOf([...BESTEFFORT, "podholding"]).cpuShares, 2);
  assert.deepEqual(log.lines, []);
  end.abort(new Error("over"));
  await running;
});

test("[6.11] a pod's directory is removed within two seconds after its last state is deleted", async () => {
  const { clock, end, files, cells, common } = world();
  files.makeDirectory(`${ROOT}/pods/known/containers/app`, 0o750);
  cells.mountState.set("known", new Map());
  cells.podOutcomes.set("known", {} as PodOutcome);
  const running = cleanUpOrphans({ ...common, cgroups: new FakeCgroups(), podParents: [] }, end.signal);
  await clock.advance(10_000);
  cells.podOutcomes.delete("known");
  await clock.advance(2_000);
  assert.deepEqual(await files.port.list(`${ROOT}/pods`), ["known"]);
  cells.mountState.delete("known");
  await clock.advance(0);
  assert.deepEqual(await files.port.list(`${ROOT}/pods`), []);
  files.makeDirectory(`${ROOT}/pods/next`, 0o750);
  cells.mountState.set("next", new Map());
  cells.mountState.delete("next");
  await clock.advance(1_900);
  assert.deepEqual(await files.port.list(`${ROOT}/pods`), ["next"]);
  await clock.advance(100);
  assert.deepEqual(await files.port.list(`${ROOT}/pods`), []);
  end.abort(new Error("over"));
  await running;
});

test("[4.9] nothing is removed before every source is ready", async () => {
  const { clock, end, files, cells, common } = world();
  const cgroups = await litter(files);
  cells.sourcesReady.set(false);
  const running = cleanUpOrphans({ ...common, cgroups, podParents: [BESTEFFORT] }, end.signal);
  await clock.advance(300_000);
  assert.equal((await files.port.list(`${ROOT}/pods`)).length, 3);
  assert.equal((await files.port.list(LOGS)).length, 4);
  assert.equal((await cgroups.children(BESTEFFORT)).length, 3);
  cells.sourcesReady.set(true);
  await clock.advance(30_000);
  assert.deepEqual(await cgroups.children(BESTEFFORT), ["podholding"]);
  end.abort(new Error("over"));
  await running;
});

test("[6.11] a directory that cannot be removed does not block the others; failures are logged once per round", async () => {
  const { clock, end, files, log, common } = world();
  for (const uid of ["a", "b", "c"]) files.makeDirectory(`${ROOT}/pods/${uid}`, 0o750);
  const port = {
    ...files.port,
    removeTree: (path: string) =>
      path.endsWith("/a") || path.endsWith("/b")
        ? Promise.reject(new HostFileError("remove", path, "other", "busy"))
        : files.port.removeTree(path),
  };
  const running = cleanUpOrphans({ ...common, files: port, cgroups: new FakeCgroups(), podParents: [] }, end.signal);
  await clock.advance(0);
  assert.deepEqual(await files.port.list(`${ROOT}/pods`), ["a", "b"]);
  assert.equal(log.lines.length, 1);
  assert.match(log.lines[0] ?? "", /Failed to remove orphaned directories of pods: remove .*busy \{"failed":2\}$/);
  end.abort(new Error("over"));
  await running;
});
