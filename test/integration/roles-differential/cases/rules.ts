/** Pods whose containers restart, or do not, by their own restart rules. */
import type { Container } from "../../../../src/api/gen/core-v1.ts";
import { SLEEPER, sh } from "../../../support/cluster-pods.ts";
import { type Cases, failed, ran, ranAgain, sidecar, waits } from "../case.ts";

const ruled = (script: string, values: readonly number[], operator = "In"): Container => ({
  ...sh(script),
  restartPolicy: "Never",
  restartPolicyRules: [{ action: "Restart", exitCodes: { operator, values } }],
});

const STATE = { volumes: [{ name: "state", emptyDir: {} }] };
const KEEPS_STATE = { volumeMounts: [{ name: "state", mountPath: "/state" }] };
/** A script that runs `first` the first time, and `then` from the second time on. */
const secondTime = (then: string, first: string) =>
  `if [ -e /state/done ]; then ${then}; fi; touch /state/done; ${first}`;

/** On its first run in the pod the container exits with `code`; 42 restarts all containers. */
const asksForAllOnce = (name: string, then = "exec sleep 1000", code = 42): Container => ({
  ...sh(secondTime(then, `sleep 3; exit ${code}`), name),
  restartPolicy: "Never",
  restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }],
  ...KEEPS_STATE,
});

export const RULES: Cases = {
  "rule-matches": {
    rows: ["7.11"],
    spec: { containers: [ruled("exit 42", [42])], restartPolicy: "Never" },
    until: waits("containerStatuses", "CrashLoopBackOff", 1, "far"),
  },
  "rule-does-not-match": {
    rows: ["7.11"],
    spec: { containers: [ruled("exit 1", [42])] },
    until: failed,
  },
  "rule-of-others": {
    rows: ["7.11"],
    spec: { containers: [ruled("exit 7", [0, 1], "NotIn")], restartPolicy: "Never" },
    until: waits("containerStatuses", "CrashLoopBackOff", 1, "far"),
  },
  "rule-restarts-all": {
    rows: ["7.12", "7.18", "11.4"],
    spec: {
      restartPolicy: "Never",
      ...STATE,
      initContainers: [sh("true", "one"), sidecar("proxy")],
      containers: [SLEEPER, asksForAllOnce("watcher")],
    },
    until: ranAgain(1),
    ends: "well",
  },
  "init-rule-restarts-all": {
    rows: ["7.12"],
    spec: {
      restartPolicy: "Never",
      ...STATE,
      initContainers: [sh("true", "one"), asksForAllOnce("two", "exit 0")],
      containers: [SLEEPER],
    },
    until: ran,
  },
  "own-policy": {
    rows: ["7.11", "11.10"],
    spec: {
      containers: [
        { ...sh("exit 1"), restartPolicy: "OnFailure" },
        { ...sh("exit 0", "once"), restartPolicy: "Never" },
      ],
      restartPolicy: "Never",
    },
    until: waits("containerStatuses", "CrashLoopBackOff", 1, "far"),
  },
  "init-with-a-rule": {
    rows: ["7.11"],
    spec: {
      initContainers: [{ ...ruled("exit 42", [42]), name: "one" }],
      containers: [SLEEPER],
      restartPolicy: "Never",
    },
    until: waits("initContainerStatuses", "CrashLoopBackOff", 1, "far"),
  },
  "rule-recovers": {
    rows: ["7.11", "7.5"],
    spec: {
      ...STATE,
      restartPolicy: "Never",
      containers: [{ ...ruled(secondTime("exec sleep 1000", "exit 42"), [42]), ...KEEPS_STATE }],
    },
    until: ranAgain(1),
  },
  "policy-recovers": {
    rows: ["7.13", "7.10", "7.5"],
    spec: { ...STATE, containers: [{ ...sh(secondTime("exec sleep 1000", "exit 1")), ...KEEPS_STATE }] },
    until: ranAgain(1),
  },
  "rule-restarts-all-of-others": {
    rows: ["7.12"],
    spec: { ...STATE, restartPolicy: "Never", containers: [asksForAllOnce("main", "exit 0", 1)] },
    until: failed,
  },
};
