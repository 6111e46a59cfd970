/**
 * Scenarios with probes: their results survive every death of the agent, and no result is published that no probe
 * returned.
 */
import type { Container, Probe } from "../../src/api/gen/core-v1.ts";
import { type Behaviour, HEALTH_COMMAND, type Health } from "../fake-runtime/behaviour.ts";
import { app, pod, SERVER } from "../workload/pod.ts";
import { all, isRunning, startsAre } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

const server = (...answers: readonly (readonly [fromMs: number, health: Health])[]): Behaviour => ({
  ...SERVER,
  answers: answers.map(([fromMs, health]) => ({ fromMs, health })),
});

const HTTP: Probe = { httpGet: { path: "/", port: 80 }, periodSeconds: 2, failureThreshold: 2 };
const EXEC: Probe = { exec: { command: HEALTH_COMMAND }, periodSeconds: 2, failureThreshold: 2 };

const probed = (name: string, behaviour: Behaviour, probes: Partial<Container>) => pod(name, app(behaviour, probes));

const isUnready =
  (name: string) =>
  ({ pod: find }: Stage) => {
    const [status] = find(name)?.status?.containerStatuses ?? [];
    const isSo = status?.state?.running !== undefined && !status.ready && status.restartCount === 0;
    return isSo ? [] : [`${name} is ${JSON.stringify(status?.state)}, ready ${status?.ready}`];
  };

const restarted =
  (name: string) =>
  ({ pod: find }: Stage) => {
    const count = find(name)?.status?.containerStatuses?.[0]?.restartCount ?? 0;
    return count >= 1 ? [] : [`${name} was not restarted`];
  };

export const withProbes: readonly Scenario[] = [
  {
    name: "probes",
    steps: [
      [
        3_000,
        ({ create }) => void create(probed("ready", server([0, 200]), { readinessProbe: HTTP, livenessProbe: HTTP })),
      ],
      [3_001, ({ create }) => void create(probed("unready", server([0, 500]), { readinessProbe: EXEC }))],
      [
        3_002,
        ({ create }) =>
          void create(
            probed("slow", server([7_000, 200]), {
              startupProbe: { ...HTTP, failureThreshold: 30 },
              readinessProbe: EXEC,
            }),
          ),
      ],
    ],
    lastsMs: 40_000,
    wrong: all(
      isRunning("ready"),
      isRunning("slow"),
      isUnready("unready"),
      startsAre("ready", 1),
      startsAre("slow", 1),
      startsAre("unready", 1),
    ),
  },
  {
    name: "liveness",
    steps: [
      [
        3_000,
        ({ create }) =>
          void create(probed("a", server([0, 200], [9_000, 500]), { livenessProbe: EXEC, readinessProbe: HTTP })),
      ],
    ],
    lastsMs: 50_000,
    wrong: restarted("a"),
  },
  {
    name: "probes while the API is away",
    steps: [
      [3_000, ({ create }) => void create(probed("a", server([0, 200]), { readinessProbe: HTTP, startupProbe: HTTP }))],
      [
        3_001,
        ({ create }) =>
          void create(probed("flips", server([0, 200], [12_000, 500], [24_000, 200]), { readinessProbe: HTTP })),
      ],
      [10_000, ({ world }) => world.api.leave()],
      [12_000, ({ node }) => node.crash()],
      [13_000, ({ node, agent }) => (node.isRunning ? undefined : node.start(agent))],
      [30_000, ({ world }) => world.api.comeBack()],
    ],
    lastsMs: 70_000,
    wrong: all(isRunning("a"), isRunning("flips"), startsAre("a", 1), startsAre("flips", 1)),
  },
];
