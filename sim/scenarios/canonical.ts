/** The ten canonical scenarios: what every kubelet must survive. Small on purpose: bugs show in small worlds. */
import type { Behaviour } from "../fake-runtime/behaviour.ts";
import { app, endsAfter, exits, manifestOf, pod, SERVER } from "../workload/pod.ts";
import { all, endedWith, isGone, isRunning, mirrorIs, startsAre, staticRuns } from "./ends.ts";
import type { Scenario } from "./scenario.ts";

const manifest = (behaviour: Behaviour) => manifestOf(pod("static", app(behaviour)));

export const canonical: readonly Scenario[] = [
  {
    name: "start",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [3_001, ({ create }) => void create(pod("done", { ...app(exits(1_000, 0)), restartPolicy: "Never" }))],
    ],
    lastsMs: 40_000,
    wrong: all(isRunning("a"), endedWith("done", "Succeeded", 0)),
  },
  {
    name: "restart",
    steps: [[3_000, ({ create }) => void create(pod("a", app(exits(8_000, 1))))]],
    lastsMs: 60_000,
    wrong: ({ pod: find }) =>
      (find("a")?.status?.containerStatuses?.[0]?.restartCount ?? 0) >= 2 ? [] : ["it was not restarted"],
  },
  {
    name: "crash loop",
    steps: [[3_000, ({ create }) => void create(pod("a", app(exits(100, 3))))]],
    lastsMs: 70_000,
    wrong: ({ pod: find }) => {
      const status = find("a")?.status?.containerStatuses?.[0];
      const waits = status?.state?.waiting?.reason;
      return waits === "CrashLoopBackOff" && status?.lastState?.terminated?.exitCode === 3
        ? []
        : [`it shows ${JSON.stringify(status?.state)}`];
    },
  },
  {
    name: "delete",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [3_002, ({ create }) => void create(pod("stubborn", app({})))],
      [6_000, ({ remove }) => remove("a")],
      [6_001, ({ remove }) => remove("stubborn")],
    ],
    lastsMs: 60_000,
    wrong: all(isGone("a"), isGone("stubborn")),
  },
  {
    name: "force delete",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [6_000, ({ remove }) => remove("a", 0)],
      [6_001, ({ create }) => void create(pod("a"))],
    ],
    lastsMs: 90_000,
    wrong: isRunning("a"),
  },
  {
    name: "static edit",
    steps: [
      [2_000, ({ writeManifest }) => writeManifest("a.json", manifest(SERVER))],
      [6_000, ({ writeManifest }) => writeManifest("a.json", manifest({ ...SERVER, stdout: "two" }))],
      [9_000, ({ writeManifest }) => writeManifest("a.json", manifest({ ...SERVER, stdout: "three" }))],
    ],
    lastsMs: 120_000,
    wrong: all(staticRuns(true), mirrorIs(true)),
  },
  {
    name: "mirror",
    steps: [
      [2_000, ({ writeManifest }) => writeManifest("a.json", manifest(endsAfter(3_000)))],
      [8_000, ({ remove }) => remove("static-n1", 0)],
      [30_000, ({ writeManifest }) => writeManifest("a.json", undefined)],
    ],
    lastsMs: 120_000,
    wrong: all(staticRuns(false), mirrorIs(false)),
  },
  {
    name: "agent restart",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [3_001, ({ create }) => void create(pod("once", { ...app(exits(9_000, 0)), restartPolicy: "Never" }))],
      [8_000, ({ node }) => node.crash()],
      [14_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 1), startsAre("once", 1), endedWith("once", "Succeeded", 0)),
  },
  {
    name: "runtime restart",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [8_000, ({ node }) => node.runtime.kill()],
      [8_500, ({ create }) => void create(pod("b"))],
      [14_000, ({ node }) => node.runtime.restart()],
    ],
    lastsMs: 90_000,
    wrong: all(isRunning("a"), isRunning("b"), startsAre("a", 1)),
  },
  {
    name: "API away",
    steps: [
      [3_000, ({ create }) => void create(pod("a"))],
      [3_001, ({ create }) => void create(pod("once", { ...app(exits(6_000, 4)), restartPolicy: "Never" }))],
      [6_000, ({ world }) => world.api.leave()],
      [40_000, ({ world }) => world.api.comeBack()],
    ],
    lastsMs: 120_000,
    wrong: all(isRunning("a"), startsAre("a", 1), endedWith("once", "Failed", 4)),
  },
];
