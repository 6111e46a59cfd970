/**
 * emptyDir volumes with project quotas: every volume keeps the project that it got, no two have the same, and projects
 * of removed volumes are released, also those that an earlier agent left.
 */
import { podDirectory } from "../../src/domain/pod/pod-names.ts";
import { volumeDirectory } from "../../src/domain/volumes/layout.ts";
import { kubeletWith } from "../kubelet.ts";
import { ROOT } from "../volume-oracle.ts";
import { ordinaryPod } from "../workload/ordinary-pod.ts";
import { emptyDirPart } from "../workload/volume-parts.ts";
import { all, isGone, isRunning } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

const pathOf = (uid: string, name: string) => volumeDirectory(podDirectory(ROOT, uid), "empty-dir", name);
const LEFT = pathOf("0f0f0f0f-0000-4000-8000-00000000dead", "scratch");
const OF_OTHERS = "/srv/data";

const scratchPod = (name: string, hostUsers: boolean) =>
  ordinaryPod({ name, parts: ["one", "two"].map((volume) => emptyDirPart(volume)), spec: { hostUsers } });

function before({ node: { quotas } }: Stage): void {
  quotas.counted.add(ROOT);
  quotas.projects.set(OF_OTHERS, 42).set(LEFT, 1_048_577);
}

function projects({ node: { quotas }, pod: find }: Stage): readonly string[] {
  const uid = find("stays")?.metadata?.uid ?? "";
  const wanted = [OF_OTHERS, ...["one", "two"].map((name) => pathOf(uid, name))].toSorted();
  const found = [...quotas.projects.keys()].toSorted();
  const isSame = wanted.length === found.length && wanted.every((path, index) => path === found[index]);
  const numbers = new Set(quotas.projects.values()).size;
  const again = quotas.assigned.filter(([path], index, those) => those.findIndex(([each]) => each === path) !== index);
  return [
    ...(isSame ? [] : [`the projects are of ${found.join(", ")}`]),
    ...(numbers === found.length ? [] : ["two directories have the same project"]),
    ...again.map(([path]) => `${path} got two projects`),
  ];
}

export const withQuotas: Scenario = {
  name: "project quotas",
  agent: kubeletWith("--feature-gates=LocalStorageCapacityIsolationFSQuotaMonitoring=true"),
  before,
  steps: [
    [3_000, ({ create }) => void create(scratchPod("stays", false))],
    [3_001, ({ create }) => void create(scratchPod("goes", false))],
    [3_002, ({ create }) => void create(scratchPod("users-of-the-node", true))],
    [9_000, ({ remove }) => remove("goes")],
  ],
  lastsMs: 60_000,
  wrong: all(isRunning("stays"), isGone("goes"), isRunning("users-of-the-node"), projects),
};
