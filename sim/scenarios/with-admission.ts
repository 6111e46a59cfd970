/**
 * Scenarios of admission: decisions that stay, a pod that waits for its RuntimeClass, and preemption for a critical
 * pod.
 */
import { nodes, runtimeClasses } from "../../src/api/resources.ts";
import { ADMIN } from "../fake-api-server/identity.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import { app, pod, SERVER } from "../workload/pod.ts";
import { all, isRunning, startsAre } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

const asksFor = (cpu: string) => app(SERVER, { resources: { requests: { cpu } } });
const CRITICAL = 2_000_000_000;

const hasFailedFor =
  (name: string, reason: string) =>
  ({ pod: find }: Stage): readonly string[] => {
    const { phase, reason: said } = find(name)?.status ?? {};
    return phase === "Failed" && said === reason ? [] : [`${name} is ${phase} for ${said}, not Failed for ${reason}`];
  };

export const withAdmission: readonly Scenario[] = [
  {
    name: "the node has become smaller",
    steps: [
      [3_000, ({ create }) => void create(pod("a", asksFor("2")))],
      [8_000, ({ node }) => node.crash()],
      [
        9_000,
        ({ node: { machine }, world }) => {
          machine.machine = { ...machine.machine, cpus: 1 };
          const body = { status: { capacity: { cpu: "1" }, allocatable: { cpu: "1" } } };
          world.api.writes.patch(kindOf(nodes), { name: "n1" }, { kind: "merge", body }, "status", ADMIN);
        },
      ],
      [10_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
      [12_000, ({ create }) => void create(pod("b", asksFor("1")))],
    ],
    lastsMs: 40_000,
    wrong: all(isRunning("a"), startsAre("a", 1), hasFailedFor("b", "OutOfcpu")),
  },
  {
    name: "a class that comes late",
    steps: [
      [3_000, ({ create }) => void create(pod("a", { runtimeClassName: "late" }))],
      [
        9_000,
        ({ put }) =>
          void put(runtimeClasses, {
            apiVersion: "node.k8s.io/v1",
            kind: "RuntimeClass",
            metadata: { name: "late" },
            handler: "runc",
          }),
      ],
    ],
    lastsMs: 60_000,
    wrong: all(isRunning("a"), startsAre("a", 1)),
  },
  {
    name: "room for a critical pod",
    steps: [
      [3_000, ({ create }) => void create(pod("victim", asksFor("3")))],
      [3_001, ({ create }) => void create(pod("bystander", asksFor("100m")))],
      [9_000, ({ create }) => void create(pod("critical", { ...asksFor("2"), priority: CRITICAL }))],
    ],
    lastsMs: 60_000,
    wrong: all(
      isRunning("critical"),
      isRunning("bystander"),
      startsAre("bystander", 1),
      hasFailedFor("victim", "Preempting"),
    ),
  },
];
