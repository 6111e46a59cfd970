/** Pods with sidecars. */
import { DEAF, SLEEPER, sh } from "../../../support/cluster-pods.ts";
import { type Cases, failed, ran, sidecar, sleeper, succeeded, waits } from "../case.ts";

export const SIDECARS: Cases = {
  "sidecar-start-fails": {
    rows: ["7.18", "7.26"],
    spec: { initContainers: [sidecar("proxy", { command: ["/no/such/program"] })], containers: [SLEEPER] },
    until: waits("initContainerStatuses", "CrashLoopBackOff", 1),
  },
  "sidecar-beside": {
    rows: ["7.8"],
    spec: { initContainers: [sidecar("proxy"), sh("true", "one")], containers: [SLEEPER] },
    until: ran,
    ends: "well",
  },
  "sidecars-in-order": {
    rows: ["7.9"],
    spec: {
      terminationGracePeriodSeconds: 20,
      initContainers: [sidecar("first"), sidecar("second")],
      containers: [{ ...sh("trap 'sleep 2; exit 0' TERM; while :; do sleep 1000 & wait; done") }, sleeper("other")],
    },
    until: ran,
    ends: "well",
  },
  "sidecar-of-a-job": {
    rows: ["7.8", "11.1"],
    spec: { initContainers: [sidecar("proxy")], containers: [sh("sleep 1")], restartPolicy: "Never" },
    until: succeeded,
  },
  "sidecar-of-a-failed-job": {
    rows: ["7.8", "11.1"],
    spec: { initContainers: [sidecar("proxy")], containers: [sh("exit 4")], restartPolicy: "Never" },
    until: failed,
  },
  "sidecar-that-ends": {
    rows: ["7.8"],
    spec: { initContainers: [{ ...sh("sleep 4; exit 1", "proxy"), restartPolicy: "Always" }], containers: [SLEEPER] },
    until: waits("initContainerStatuses", "CrashLoopBackOff", 1),
  },
  "sidecars-by-force": {
    rows: ["7.9", "7.14"],
    spec: {
      terminationGracePeriodSeconds: 4,
      initContainers: [{ ...DEAF, name: "first", restartPolicy: "Always" }, sidecar("second")],
      containers: [DEAF],
    },
    until: ran,
    ends: "badly",
  },
};
