/** Pods with init containers, and what these leave to other containers. */
import type { Pod, PodSpec } from "../../../../src/api/gen/core-v1.ts";
import { BUSYBOX, SLEEPER, sh } from "../../../support/cluster-pods.ts";
import { type Cases, failed, ran, sleeper, succeeded, waits } from "../case.ts";

const setsUp = {
  what: "set up",
  is: ({ status }: Pod) => status?.initContainerStatuses?.some(({ state }) => state?.running !== undefined) === true,
  comes: "far",
} as const;

/** The container's environment has a variable from this key of a file that an init container wrote. */
const withEnvFile = (key: string): Partial<PodSpec> => ({
  volumes: [{ name: "config", emptyDir: {} }],
  initContainers: [
    {
      ...sh("echo \"GREETING='two words'\" > /config/file", "one"),
      volumeMounts: [{ name: "config", mountPath: "/config" }],
    },
  ],
  containers: [
    {
      ...sh("test \"$$GREETING\" = 'two words' && exec sleep 1000"),
      env: [{ name: "GREETING", valueFrom: { fileKeyRef: { volumeName: "config", path: "file", key } } }],
    },
  ],
});

export const SETTING_UP: Cases = {
  "init-two": {
    rows: ["7.7", "7.26", "7.25"],
    spec: { initContainers: [sh("true", "one"), sh("sleep 1", "two")], containers: [SLEEPER] },
    until: ran,
    ends: "well",
  },
  "init-under-way": {
    rows: ["7.7"],
    spec: { initContainers: [sleeper("one"), sh("true", "two")], containers: [SLEEPER] },
    until: setsUp,
    ends: "well",
  },
  "init-fails-never": {
    rows: ["7.7", "11.1", "11.4", "11.5", "11.7"],
    spec: {
      initContainers: [sh("echo no >&2; exit 3", "one"), sh("true", "two")],
      containers: [SLEEPER],
      restartPolicy: "Never",
    },
    until: failed,
  },
  "init-fails-always": {
    rows: ["7.7", "7.13"],
    spec: { initContainers: [sh("exit 3", "one")], containers: [SLEEPER] },
    until: waits("initContainerStatuses", "CrashLoopBackOff", 1),
  },
  "init-fails-on-failure": {
    rows: ["7.7"],
    spec: { initContainers: [sh("exit 1", "one")], containers: [SLEEPER], restartPolicy: "OnFailure" },
    until: waits("initContainerStatuses", "CrashLoopBackOff", 1),
  },
  "init-without-image": {
    rows: ["7.18"],
    spec: {
      initContainers: [{ ...sleeper("one"), image: "registry.k8s.io/absent:1", imagePullPolicy: "Never" }],
      containers: [SLEEPER],
    },
    until: waits("initContainerStatuses", "ErrImageNeverPull", 0),
  },
  "init-out-of-memory": {
    rows: ["7.7"],
    spec: {
      initContainers: [
        { name: "one", image: BUSYBOX, command: ["tail", "/dev/zero"], resources: { limits: { memory: "32Mi" } } },
      ],
      containers: [SLEEPER],
      restartPolicy: "Never",
    },
    until: failed,
  },
  "init-job": {
    rows: ["7.7", "11.1", "7.18", "11.4", "11.5", "11.7"],
    spec: { initContainers: [sh("true", "one")], containers: [sh("exit 0")], restartPolicy: "Never" },
    until: succeeded,
  },
  "env-from-a-file": { rows: ["24.10"], spec: withEnvFile("GREETING"), until: ran },
  "env-from-a-file-without-the-key": {
    rows: ["24.10"],
    spec: withEnvFile("ABSENT"),
    until: waits("containerStatuses", "CreateContainerConfigError", 0),
  },
  "start-fails": {
    rows: ["7.18", "7.26", "7.5", "7.25"],
    spec: { containers: [{ ...SLEEPER, command: ["/no/such/program"] }] },
    until: waits("containerStatuses", "CrashLoopBackOff", 1),
  },
};
