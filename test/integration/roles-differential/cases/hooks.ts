/** Pods with postStart and preStop hooks. */
import { sh } from "../../../support/cluster-pods.ts";
import { type Cases, exec, ran, sleeper, waits } from "../case.ts";

/** Ignores SIGTERM, so that it terminates the same way however early it is stopped. */
const STUBBORN = sh("exec sleep 1000");

export const HOOKS: Cases = {
  "post-start": {
    rows: ["7.15", "7.6"],
    spec: { containers: [sleeper("main", { lifecycle: { postStart: exec("sleep 1") } }), sleeper("second")] },
    until: ran,
    ends: "well",
  },
  "post-start-sleep": {
    rows: ["7.15"],
    spec: { containers: [sleeper("main", { lifecycle: { postStart: { sleep: { seconds: 1 } } } })] },
    until: ran,
  },
  "post-start-fails": {
    rows: ["7.15"],
    spec: { containers: [{ ...STUBBORN, lifecycle: { postStart: exec("echo out; echo err >&2; exit 5") } }] },
    until: waits("containerStatuses", "CrashLoopBackOff", 1),
  },
  "post-start-http-fails": {
    rows: ["7.15"],
    spec: { containers: [{ ...STUBBORN, lifecycle: { postStart: { httpGet: { path: "/here", port: 81 } } } }] },
    until: waits("containerStatuses", "PostStartHookError", 0),
  },
  "post-start-tcp": {
    rows: ["7.15"],
    spec: { containers: [{ ...STUBBORN, lifecycle: { postStart: { tcpSocket: { port: 81 } } } }] },
    until: waits("containerStatuses", "PostStartHookError", 0),
  },
  "pre-stop-tcp": {
    rows: ["7.15"],
    spec: {
      terminationGracePeriodSeconds: 10,
      containers: [sleeper("main", { lifecycle: { preStop: { tcpSocket: { port: 81 } } } })],
    },
    until: ran,
    ends: "badly",
  },
  "pre-stop-http": {
    rows: ["7.15"],
    spec: {
      terminationGracePeriodSeconds: 10,
      containers: [
        {
          ...sh("trap 'exit 0' TERM; httpd -f -p 8080 -h /tmp & wait"),
          ports: [{ name: "web", containerPort: 8080 }],
          lifecycle: { preStop: { httpGet: { path: "/", port: "web" } } },
        },
      ],
    },
    until: ran,
    ends: "well",
  },
  "pre-stop": {
    rows: ["7.15"],
    spec: {
      terminationGracePeriodSeconds: 10,
      containers: [sleeper("main", { lifecycle: { preStop: exec("sleep 1") } })],
    },
    until: ran,
    ends: "well",
  },
  "pre-stop-sleep": {
    rows: ["7.15"],
    spec: {
      terminationGracePeriodSeconds: 10,
      containers: [sleeper("main", { lifecycle: { preStop: { sleep: { seconds: 1 } } } })],
    },
    until: ran,
    ends: "well",
  },
  "pre-stop-fails": {
    rows: ["7.15"],
    spec: {
      terminationGracePeriodSeconds: 10,
      containers: [sleeper("main", { lifecycle: { preStop: exec("exit 1") } })],
    },
    until: ran,
    ends: "badly",
  },
  "pre-stop-too-long": {
    rows: ["7.14", "7.15"],
    spec: {
      terminationGracePeriodSeconds: 3,
      containers: [sleeper("main", { lifecycle: { preStop: exec("sleep 100") } })],
    },
    until: ran,
    ends: "badly",
  },
};
