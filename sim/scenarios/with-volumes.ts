/**
 * Ordinary pods with volumes, and failures around them. A number in a name is that of the bug that the scenario guards
 * against, in the project's list of bugs.
 */
import { configMaps, secrets } from "../../src/api/resources.ts";
import { podDirectory } from "../../src/domain/pod/pod-names.ts";
import { readyFileDirectory, subPathsDirectory } from "../../src/domain/volumes/layout.ts";
import { ApiError } from "../../src/ports/api-error.ts";
import { MountError } from "../../src/ports/mounts.ts";
import type { Fault, PortCall } from "../port-calls.ts";
import { ROOT } from "../volume-oracle.ts";
import { claimOf, ordinaryPod } from "../workload/ordinary-pod.ts";
import { SERVER } from "../workload/pod.ts";
import { apiObject } from "../workload/self-describing-objects.ts";
import {
  claimPart,
  configMapPart,
  downwardPart,
  emptyDirPart,
  hostPathPart,
  secretPart,
  subPathOf,
  tokenPart,
} from "../workload/volume-parts.ts";
import { all, isGone, isRunning, nobodyWasInformed, nothingIsLeft, shows, startsAre, tokenLives } from "./ends.ts";
import { makeDisk } from "./make-disk.ts";
import type { Scenario, Stage } from "./scenario.ts";
import { withQuotas } from "./with-quotas.ts";

const DATA = "/data";
const DISK = "/mnt/disks/d1";

const setConfigMap = ({ put }: Stage, name: string, version: number, keys = ["one", "two", "three"]) =>
  put(configMaps, apiObject({ kind: "ConfigMap", name, version, keys }));
const setSecret = ({ put }: Stage, name: string, version: number, keys = ["user", "password"]) =>
  put(secrets, apiObject({ kind: "Secret", name, version, keys }));

function makeObjects(stage: Stage): void {
  setConfigMap(stage, "settings", 1);
  setConfigMap(stage, "root-ca", 1, ["ca.crt"]);
  setSecret(stage, "hidden", 1);
  stage.oracle.volumes.guard(`${DATA}/user-data`, "not yours\n");
  makeDisk(stage, "d1", DISK);
}

const scratch = emptyDirPart("scratch");
const settings = configMapPart("settings", "settings");
const everything = [
  tokenPart("token", "root-ca"),
  settings,
  secretPart("hidden", "hidden"),
  scratch,
  emptyDirPart("memory", "Memory"),
  downwardPart("self"),
  hostPathPart("data", DATA),
  claimPart("disk", claimOf("d1")),
  subPathOf(scratch, "deep/er"),
  subPathOf(settings, "one"),
];
const everythingPod = (name: string) =>
  ordinaryPod({
    name,
    parts: everything,
    env: [
      { name: "ONE", valueFrom: { configMapKeyRef: { name: "settings", key: "one" } } },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "hidden", key: "password" } } },
    ],
  });

const groupPod = ordinaryPod({
  name: "a",
  parts: [emptyDirPart("memory", "Memory")],
  spec: { securityContext: { fsGroup: 2000 } },
});
const slowPod = ordinaryPod({ name: "a", parts: everything, behaviour: { ...SERVER, startMs: 2_000 } });

const refuseTokens =
  (fromMs: number, untilMs: number) =>
  ({ name, target }: PortCall, nowMs: number): Fault | undefined =>
    name === "CREATE" && target.startsWith("serviceaccounts/token") && nowMs >= fromMs && nowMs < untilMs
      ? { kind: "fail", effect: "none", error: new ApiError("CREATE token", 500, "InternalError", "no tokens today") }
      : undefined;

const ORPHAN = `${ROOT}/pods/0f0f0f0f-0000-4000-8000-00000000dead`;
const PLANTED = ["taken", "outer/inner"].map((name) => `${ORPHAN}/volumes/kubernetes.io~empty-dir/${name}`);

/** Leftovers on the node: the directory of a pod that no source knows, with foreign bind mounts, and data below it. */
function plantOrphan({ oracle }: Stage): void {
  oracle.volumes.guard(`${DATA}/user-data`, "not yours\n");
  for (const place of PLANTED) oracle.volumes.plantBind(DATA, place);
  oracle.volumes.guard(`${ORPHAN}/volumes/kubernetes.io~csi/pvc-1/user-data`, "of a plugin that is not built\n");
}

export const withVolumes: readonly Scenario[] = [
  {
    name: "ordinary pod",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(everythingPod("a"))],
      [10_000, (stage) => void setConfigMap(stage, "settings", 2, ["one", "three", "four"])],
      [14_000, (stage) => void setSecret(stage, "hidden", 2, ["user", "password", "__proto__"])],
    ],
    lastsMs: 40_000,
    wrong: all(
      isRunning("a"),
      startsAre("a", 1),
      shows("a", "settings", "ConfigMap", "settings", 2),
      shows("a", "hidden", "Secret", "hidden", 2),
      shows("a", "token", "ConfigMap", "root-ca", 1),
    ),
  },
  {
    name: "ordinary pod goes",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(everythingPod("a"))],
      [9_000, ({ remove }) => remove("a")],
    ],
    lastsMs: 120_000,
    wrong: all(isGone("a"), nothingIsLeft),
  },
  {
    name: "33 orphan with data",
    before: plantOrphan,
    steps: [],
    lastsMs: 100_000,
    wrong: ({ oracle }) =>
      PLANTED.filter((place) => !oracle.volumes.isPlanted(place)).map(
        (place) => `what somebody mounted at ${place} is gone`,
      ),
  },
  {
    name: "34 deleted around a restart",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(everythingPod("a"))],
      [
        3_002,
        ({ create }) => void create(ordinaryPod({ name: "b", parts: [secretPart("hidden", "hidden"), scratch] })),
      ],
      [9_000, ({ node }) => node.crash()],
      [9_500, ({ remove }) => remove("a")],
      [9_501, ({ remove }) => remove("b", 0)],
      [14_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 140_000,
    wrong: all(isGone("a"), isGone("b"), nothingIsLeft),
  },
  {
    name: "36 refreshes fail",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(everythingPod("a"))],
      [10_000, ({ drop }) => drop(configMaps, "settings")],
      [12_000, ({ drop }) => drop(secrets, "hidden")],
      [
        20_000,
        ({ node }) => {
          node.files.disk.freeBytes = 0;
        },
      ],
      [20_001, (stage) => void setConfigMap(stage, "settings", 2, ["one", "three", "four"])],
      [
        30_000,
        ({ node }) => {
          node.files.disk.freeBytes = Number.POSITIVE_INFINITY;
        },
      ],
    ],
    lastsMs: 200_000,
    wrong: all(
      isRunning("a"),
      startsAre("a", 1),
      shows("a", "settings", "ConfigMap", "settings", 2),
      shows("a", "hidden", "Secret", "hidden", 1),
    ),
  },
  {
    name: "36 a token is not renewed in time",
    before: (stage) => {
      makeObjects(stage);
      stage.world.api.tokenSecondsMax = 100;
    },
    steps: [
      [3_000, ({ create }) => void create(ordinaryPod({ name: "a", parts: [tokenPart("token", "root-ca", 600)] }))],
    ],
    fault: refuseTokens(20_000, 88_000),
    lastsMs: 170_000,
    wrong: all(isRunning("a"), startsAre("a", 1), tokenLives("a", "token")),
  },
  {
    name: "37 files change again and again",
    before: makeObjects,
    steps: [
      [
        3_000,
        ({ create }) => void create(ordinaryPod({ name: "a", parts: [settings, tokenPart("token", "root-ca")] })),
      ],
      [8_000, (stage) => void setConfigMap(stage, "settings", 2, ["one", "four"])],
      [9_000, (stage) => void setConfigMap(stage, "settings", 3, ["one", "two", "three", "four"])],
      [9_050, (stage) => void setConfigMap(stage, "settings", 4, ["three"])],
      [10_000, (stage) => void setConfigMap(stage, "settings", 5, ["one", "two", "__proto__"])],
    ],
    lastsMs: 30_000,
    wrong: all(isRunning("a"), startsAre("a", 1), shows("a", "settings", "ConfigMap", "settings", 5)),
  },
  {
    name: "38 started while the API is away",
    before: makeObjects,
    steps: [
      [
        3_000,
        ({ create }) => void create(ordinaryPod({ name: "a", parts: [secretPart("hidden", "hidden"), settings] })),
      ],
      [3_008, ({ world }) => world.api.leave()],
      [20_000, ({ world }) => world.api.comeBack()],
    ],
    lastsMs: 90_000,
    wrong: all(isRunning("a"), startsAre("a", 1), nobodyWasInformed("FailedMount")),
  },
  {
    name: "two pods on one disk",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(ordinaryPod({ name: "a", parts: [claimPart("disk", claimOf("d1"))] }))],
      [
        3_001,
        ({ create }) => void create(ordinaryPod({ name: "b", parts: [claimPart("disk", claimOf("d1")), scratch] })),
      ],
      [9_000, ({ remove }) => remove("a")],
    ],
    lastsMs: 100_000,
    wrong: all(isGone("a"), isRunning("b"), startsAre("b", 1), nothingIsLeft),
  },
  {
    name: "two pods on one device",
    before: (stage) => {
      makeObjects(stage);
      makeDisk(stage, "d2", "/dev/vdb");
    },
    steps: [
      [3_000, ({ create }) => void create(ordinaryPod({ name: "a", parts: [claimPart("disk", claimOf("d2"))] }))],
      [3_001, ({ create }) => void create(ordinaryPod({ name: "b", parts: [claimPart("disk", claimOf("d2"))] }))],
      [8_000, ({ remove }) => remove("a")],
      [20_000, ({ remove }) => remove("b")],
    ],
    lastsMs: 120_000,
    wrong: all(isGone("a"), isGone("b"), nothingIsLeft),
  },
  {
    name: "machine restart",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(everythingPod("a"))],
      [10_000, ({ node }) => node.crashMachine()],
      [13_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 120_000,
    wrong: all(isRunning("a"), shows("a", "settings", "ConfigMap", "settings", 1), nothingIsLeft),
  },
  {
    name: "power lost while a pod goes",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(everythingPod("a"))],
      [
        10_000,
        async ({ node, pod }) => {
          const directory = podDirectory(ROOT, pod("a")?.metadata?.uid ?? "");
          node.crashMachine();
          // The disk has kept these of the directories that an agent had removed, in no particular order.
          node.files.makeDirectory(`${subPathsDirectory(directory)}/scratch/app/8`, 0o750);
          node.files.makeDirectory(readyFileDirectory(directory, "empty-dir", "memory"), 0o750);
          await node.files.port.removeTree(`${directory}/volumes`);
        },
      ],
      [10_500, ({ remove }) => remove("a")],
      [13_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 120_000,
    wrong: all(isGone("a"), nothingIsLeft),
  },
  {
    name: "machine restart, and a group that is refused at first",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(groupPod)],
      [
        10_000,
        ({ node, pod }) => {
          // By now the disk has synced what was written long ago.
          const directory = podDirectory(ROOT, pod("a")?.metadata?.uid ?? "");
          node.files.disk.syncName(`${readyFileDirectory(directory, "empty-dir", "memory")}/ready`);
          node.crashMachine();
        },
      ],
      [13_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    fault: ({ name, target }, nowMs) =>
      name === "applyFsGroup" && nowMs > 13_000 && nowMs < 13_400
        ? { kind: "fail", effect: "none", error: new MountError(name, target, "unresponsive", "not now") }
        : undefined,
    lastsMs: 120_000,
    wrong: isRunning("a"),
  },
  {
    name: "ended while its container starts",
    before: makeObjects,
    steps: [
      [3_000, ({ create }) => void create(slowPod)],
      [4_000, ({ remove }) => remove("a")],
    ],
    lastsMs: 120_000,
    wrong: all(isGone("a"), nothingIsLeft),
  },
  {
    name: "pull cut short",
    before: (stage) => {
      makeObjects(stage);
      stage.world.registry.add("registry.example/app:1");
      stage.world.registry.pullMs = () => 4_000;
    },
    steps: [
      [
        3_000,
        ({ create }) => void create(ordinaryPod({ name: "a", parts: [settings], image: "registry.example/app:1" })),
      ],
      [5_000, ({ node }) => node.runtime.kill()],
      [8_000, ({ node }) => node.runtime.restart()],
    ],
    lastsMs: 120_000,
    wrong: all(isRunning("a"), startsAre("a", 1)),
  },
  withQuotas,
];
