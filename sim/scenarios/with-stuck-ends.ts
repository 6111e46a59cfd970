/** Pods whose termination fails at one of its steps for longer than their grace period, until that step recovers. */
import type { Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { MountError } from "../../src/ports/mounts.ts";
import { type Behaviour, scripted } from "../fake-runtime/behaviour.ts";
import type { PortCall } from "../port-calls.ts";
import { all, isGone, nothingIsLeft } from "./ends.ts";
import type { Scenario } from "./scenario.ts";

const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const [REMOVED_MS, HEALED_MS, GONE_MS] = [12_000, 40_000, 52_000];

const pod = (spec: Partial<PodSpec>): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", namespace: "default" },
  spec: {
    nodeName: "n1",
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    volumes: [{ name: "data", emptyDir: { medium: "Memory" } }],
    containers: [
      {
        name: "app",
        image: "busybox",
        imagePullPolicy: "IfNotPresent",
        command: [...scripted(server)],
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    ...spec,
  },
});

const steps: readonly (readonly [step: string, fails: (call: PortCall) => boolean])[] = [
  ["containers", ({ name }) => name === "StopContainer"],
  ["sandbox", ({ name }) => name === "StopPodSandbox"],
  ["volumes", ({ port, name }) => port === "mounts" && name === "unmount"],
  ["cgroup", ({ port, name }) => port === "cgroups" && name === "destroy"],
  ["users", ({ name, target }) => name === "removeFile" && target.endsWith("/userns")],
  ["status", ({ port, name, target }) => port === "api" && name === "PATCH" && target.startsWith("pods/status")],
  ["object", ({ port, name, target }) => port === "api" && name === "DELETE" && target.startsWith("pods")],
];

const errorOf = ({ port, target }: PortCall) =>
  port === "mounts" ? { error: new MountError("unmount", target, "busy", "target is busy") } : {};

export const withStuckEnds: readonly Scenario[] = steps.map(([step, fails]) => ({
  name: `end stuck at ${step}`,
  steps: [
    [3_000, ({ create }) => void create(pod(step === "users" ? { hostUsers: false } : {}))],
    [REMOVED_MS, ({ remove }) => remove("a")],
  ],
  lastsMs: GONE_MS,
  fault: (call, nowMs) =>
    nowMs >= REMOVED_MS && nowMs < HEALED_MS && fails(call)
      ? { kind: "fail", effect: "none", ...errorOf(call) }
      : undefined,
  wrong: all(isGone("a"), nothingIsLeft),
}));
