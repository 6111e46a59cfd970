/** The table of defaults. test/integration/static-pods.test.ts verifies that the API server has the same ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, PodSpec } from "../../api/gen/core-v1.ts";
import { defaultPod } from "./static-pod-defaults.ts";

const specOf = (spec: Partial<PodSpec>) =>
  defaultPod({ spec: { containers: [{ name: "a", image: "i:1" }], ...spec } }).spec;
const containerOf = (container: Partial<Container>, spec: Partial<PodSpec> = {}) =>
  specOf({ ...spec, containers: [{ name: "a", image: "i:1", ...container }] })?.containers[0];

test("[4.4] a pod with one container gets all defaults", () => {
  assert.deepEqual(specOf({}), {
    containers: [
      {
        name: "a",
        image: "i:1",
        imagePullPolicy: "IfNotPresent",
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        resources: {},
      },
    ],
    dnsPolicy: "ClusterFirst",
    enableServiceLinks: true,
    restartPolicy: "Always",
    schedulerName: "default-scheduler",
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  });
});

const pullPolicies: readonly (readonly [string, string])[] = [
  ["busybox", "Always"],
  ["busybox:latest", "Always"],
  ["busybox:1.37", "IfNotPresent"],
  ["registry:5000/busybox", "Always"],
  [`busybox@sha256:${"0".repeat(64)}`, "IfNotPresent"],
  [`busybox:latest@sha256:${"0".repeat(64)}`, "Always"],
  ["Busybox", "IfNotPresent"],
  ["", "IfNotPresent"],
];
for (const [image, policy] of pullPolicies) {
  test(`[4.4] the image "${image}" gets the pull policy ${policy}`, () => {
    assert.equal(containerOf({ image })?.imagePullPolicy, policy);
  });
}

test("[4.4] requests default to limits per resource, and are rounded up to thousandths", () => {
  const resources = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "0.0001" } };
  assert.deepEqual(containerOf({ resources })?.resources, {
    limits: { cpu: "1", memory: "1Gi" },
    requests: { cpu: "1m", memory: "1Gi" },
  });
});

test("[4.4] hostPort defaults to containerPort on the host network only", () => {
  const ports = [{ containerPort: 80 }, { containerPort: 81, hostPort: 82, protocol: "UDP" }];
  assert.deepEqual(containerOf({ ports }, { hostNetwork: true })?.ports, [
    { containerPort: 80, hostPort: 80, protocol: "TCP" },
    { containerPort: 81, hostPort: 82, protocol: "UDP" },
  ]);
  assert.deepEqual(containerOf({ ports: [{ containerPort: 80 }] })?.ports, [{ containerPort: 80, protocol: "TCP" }]);
});

test("[4.4] probes and hooks get default periods, thresholds, path and scheme", () => {
  const times = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  const container = containerOf({
    livenessProbe: { httpGet: { port: 80 } },
    readinessProbe: { grpc: { port: 1 }, periodSeconds: 0, failureThreshold: 7 },
    lifecycle: { preStop: { httpGet: { port: 1, path: "x", scheme: "HTTPS" } } },
  });
  assert.deepEqual(container?.livenessProbe, { httpGet: { port: 80, path: "/", scheme: "HTTP" }, ...times });
  assert.deepEqual(container?.readinessProbe, { grpc: { port: 1, service: "" }, ...times, failureThreshold: 7 });
  assert.deepEqual(container?.lifecycle, { preStop: { httpGet: { port: 1, path: "x", scheme: "HTTPS" } } });
});

test("[4.4] pod-level requests default to limits, or to the containers' sum at its peak", () => {
  const resources = specOf({
    resources: { limits: { cpu: "4", memory: "4Gi" } },
    containers: [{ name: "a", resources: { requests: { memory: "1Gi" } } }],
    initContainers: [
      { name: "s", restartPolicy: "Always", resources: { requests: { memory: "1Gi" } } },
      { name: "i", resources: { requests: { memory: "2Gi" } } },
    ],
  })?.resources;
  assert.deepEqual(resources, { limits: { cpu: "4", memory: "4Gi" }, requests: { cpu: "4", memory: "3Gi" } });
});

test("[4.4] a volume without a source becomes an emptyDir, and a secret gets a default mode", () => {
  const volumes = specOf({
    volumes: [{ name: "e" }, { name: "s", secret: { secretName: "x" } }, { name: "h", hostPath: { path: "/" } }],
  })?.volumes;
  assert.deepEqual(volumes, [
    { name: "e", emptyDir: {} },
    { name: "s", secret: { secretName: "x", defaultMode: 420 } },
    { name: "h", hostPath: { path: "/", type: "" } },
  ]);
});

test("[4.4] a negative grace period becomes 1 s, a missing one 30 s", () => {
  const grace = [-3, 0, 5, undefined].map(
    (seconds) =>
      specOf(seconds === undefined ? {} : { terminationGracePeriodSeconds: seconds })?.terminationGracePeriodSeconds,
  );
  assert.deepEqual(grace, [1, 0, 5, 30]);
});
