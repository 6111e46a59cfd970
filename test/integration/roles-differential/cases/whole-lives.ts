/** Pods without sidecars or hooks: their status from start to end, also when something changes meanwhile. */
import type { Container } from "../../../../src/api/gen/core-v1.ts";
import { conditionOf, DEAF, hasFailedWhole, SLEEPER, sh } from "../../../support/cluster-pods.ts";
import { type Case, type Cases, failed, ran, ranAgain, sleeper, succeeded, waits } from "../case.ts";

/** For a container that terminates by itself, with success or failure. */
const job = (rows: readonly string[], code: 0 | 1, container: Partial<Container>, spec: Case["spec"] = {}): Case => ({
  rows,
  spec: { restartPolicy: "Never", ...spec, containers: [{ ...sh(`exit ${code}`), ...container }] },
  until: code === 0 ? succeeded : failed,
});

const CLASSES = {
  guaranteed: { requests: { cpu: "10m", memory: "16Mi" }, limits: { cpu: "10m", memory: "16Mi" } },
  burstable: { requests: { cpu: "10m" } },
} as const;

const script = (text: string): Pick<Container, "command"> => ({ command: ["sh", "-c", text] });
const ABSENT = "registry.k8s.io/absent:1";

const TERMINATION_MESSAGES: Cases = {
  "last-words": job(["7.17"], 0, script("echo that is all > /dev/termination-log")),
  "last-words-elsewhere": job(["7.17"], 1, {
    ...script("echo enough > /tmp/words; exit 1"),
    terminationMessagePath: "/tmp/words",
  }),
  "last-words-of-the-log": job(["7.17"], 1, {
    ...script("echo one; echo two; exit 1"),
    terminationMessagePolicy: "FallbackToLogsOnError",
  }),
};

type Step = NonNullable<Case["meanwhile"]>;

const GATE = "example.com/open";
/** Sets the condition of the readiness gate, as its controller would. */
const withGate =
  (status: "True" | "False"): Step =>
  (kubectl, name) => {
    const conditions = [{ type: GATE, status, lastTransitionTime: new Date().toISOString() }];
    const patch = JSON.stringify({ status: { conditions } });
    return kubectl("patch", "pod", name, "--subresource", "status", "--patch", patch);
  };

const withImage =
  (image: string): Step =>
  (kubectl, name) =>
    kubectl("patch", "pod", name, "--patch", JSON.stringify({ spec: { containers: [{ name: "main", image }] } }));

const CHANGED: Cases = {
  "gate-closed": {
    rows: ["11.6", "11.5"],
    spec: { readinessGates: [{ conditionType: GATE }], containers: [SLEEPER] },
    until: {
      what: "had its containers ready",
      is: (pod) => conditionOf(pod, "ContainersReady")?.status === "True",
      comes: "short",
    },
  },
  "gate-open": {
    rows: ["11.6", "11.11"],
    spec: { readinessGates: [{ conditionType: GATE }], containers: [SLEEPER] },
    meanwhile: withGate("True"),
    until: { what: "was ready", is: (pod) => conditionOf(pod, "Ready")?.status === "True", comes: "far" },
  },
  "gate-shut": {
    rows: ["11.6", "11.11"],
    spec: { readinessGates: [{ conditionType: GATE }], containers: [SLEEPER] },
    meanwhile: withGate("False"),
    until: {
      what: "has an unready gate in its Ready condition",
      is: (pod) => conditionOf(pod, "Ready")?.message?.includes("False") === true,
      comes: "short",
    },
  },
  "image-changed": {
    rows: ["7.4", "11.7"],
    spec: { containers: [SLEEPER] },
    meanwhile: withImage("docker.io/library/busybox:1.36"),
    until: ranAgain(1),
  },
  "image-changed-to-none": {
    rows: ["7.4"],
    spec: { containers: [sleeper("main", { imagePullPolicy: "Never" })] },
    meanwhile: withImage(ABSENT),
    until: waits("containerStatuses", "ErrImageNeverPull", 0),
    onlyGo: {
      event: /^Warning BackOff /,
      why: "the Go kubelet counts a start without an image as a start, and holds back the next one within ten seconds",
    },
  },
};

/** In a pod with a shared PID namespace, PID 1 is the pause process. */
const SEES_THE_SANDBOX = script('test "$(cat /proc/1/comm)" = pause');

const SHARED: Cases = {
  "shares-processes": job(["7.28"], 0, SEES_THE_SANDBOX, { shareProcessNamespace: true }),
  "shares-nothing": job(["7.28"], 1, SEES_THE_SANDBOX),
  "shares-with-the-node": job(["7.28"], 0, script("true"), { hostPID: true, hostIPC: true }),
  "on-the-network-of-the-node": job(["11.8", "7.28"], 0, {}, { hostNetwork: true }),
  "on-the-network-of-the-node-in-vain": job(["11.8"], 1, {}, { hostNetwork: true }),
};

const ENDS: Cases = {
  "ends-in-time": {
    rows: ["6.4", "6.5", "6.6", "7.14", "11.3"],
    spec: { terminationGracePeriodSeconds: 10, containers: [SLEEPER] },
    until: ran,
    ends: "well",
  },
  "ends-by-force": {
    rows: ["6.4", "6.5", "6.6", "7.14", "11.3"],
    spec: { terminationGracePeriodSeconds: 3, containers: [DEAF, sleeper("other")] },
    until: ran,
    ends: "badly",
  },
  "deadline-far": job(["6.10"], 0, {}, { activeDeadlineSeconds: 600 }),
  "deadline-passed": {
    rows: ["6.10"],
    // Long enough for a busy machine: a pod that has not started by the deadline ends differently, under both agents.
    spec: { activeDeadlineSeconds: 30, containers: [SLEEPER] },
    until: { what: "had failed", is: hasFailedWhole, comes: "short", goesOn: true },
  },
};

export const WHOLE_LIVES: Cases = {
  ...TERMINATION_MESSAGES,
  ...CHANGED,
  ...SHARED,
  ...ENDS,
  "memory-guaranteed": job(["11.9"], 0, { resources: CLASSES.guaranteed }),
  "memory-burstable": job(["11.9"], 1, { resources: CLASSES.burstable }),
  "names-out-of-order": {
    rows: ["11.10"],
    spec: { restartPolicy: "Never", containers: [sh("exit 0", "zeta"), sh("exit 0", "alpha"), sh("exit 0")] },
    until: succeeded,
  },
  "names-out-of-order-in-vain": {
    rows: ["11.10"],
    spec: { restartPolicy: "Never", containers: [sh("exit 1", "zeta"), sh("exit 0", "alpha"), sh("exit 1")] },
    until: failed,
  },
  "one-cannot-start": {
    rows: ["7.6", "7.26"],
    spec: { containers: [{ ...SLEEPER, image: ABSENT, imagePullPolicy: "Never" }, sleeper("second")] },
    until: {
      what: "ran in part",
      is: (pod) =>
        pod.status?.containerStatuses?.some(({ state }) => state?.waiting?.reason === "ErrImageNeverPull") === true &&
        pod.status.containerStatuses.some((one) => one.name === "second" && one.state?.running !== undefined),
      comes: "short",
      goesOn: true,
    },
  },
};
