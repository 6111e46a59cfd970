import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import type { PodSpec } from "../../api/gen/core-v1.ts";
import { referencesOf } from "./references.ts";

const named = (spec: Partial<PodSpec>) =>
  referencesOf(pod(spec, { name: "web", namespace: "shop" })).map(({ kind, namespace, name }) => {
    assert.equal(namespace, "shop");
    return `${kind} ${name}`;
  });

const envOf = (letter: string) => ({
  envFrom: [{ configMapRef: { name: `${letter}-all` } }, { prefix: "P_", secretRef: { name: `${letter}-secrets` } }],
  env: [
    { name: "PLAIN", value: "x" },
    { name: "ONE", valueFrom: { configMapKeyRef: { name: `${letter}-one`, key: "k" } } },
    { name: "TWO", valueFrom: { secretKeyRef: { name: `${letter}-two`, key: "k" } } },
    { name: "OWN", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ],
});

test("[13.8] ConfigMaps and Secrets of containers of any kind, volumes and image pulls are referenced", () => {
  const spec = {
    imagePullSecrets: [{ name: "pull" }],
    initContainers: [container("init", envOf("i"))],
    containers: [container("app", envOf("c"))],
    ephemeralContainers: [{ ...container("debug"), ...envOf("e") }],
    volumes: [
      { name: "a", configMap: { name: "mounted" } },
      { name: "b", secret: { secretName: "hidden" } },
      {
        name: "c",
        projected: {
          sources: [
            { configMap: { name: "part" } },
            { secret: { name: "hidden-part" } },
            { downwardAPI: {} },
            { serviceAccountToken: { path: "token" } },
          ],
        },
      },
      { name: "d", csi: { driver: "d", nodePublishSecretRef: { name: "login" } } },
      { name: "e", emptyDir: {} },
    ],
  };
  const ofEnv = (letter: string) => [
    `ConfigMap ${letter}-all`,
    `Secret ${letter}-secrets`,
    `ConfigMap ${letter}-one`,
    `Secret ${letter}-two`,
  ];
  assert.deepEqual(named(spec), [
    "Secret pull",
    ...ofEnv("i"),
    ...ofEnv("c"),
    ...ofEnv("e"),
    "ConfigMap mounted",
    "Secret hidden",
    "ConfigMap part",
    "Secret hidden-part",
    "Secret login",
  ]);
});

test("[13.30] claims of volumes are referenced, those of generic ephemeral volumes as <pod>-<volume>", () => {
  const spec = {
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "disk" } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: {} } } },
    ],
  };
  assert.deepEqual(named(spec), ["PersistentVolumeClaim disk", "PersistentVolumeClaim web-scratch"]);
});

test("an object named twice is referenced once, a ConfigMap and a Secret of one name both, an empty name never", () => {
  const env = [
    { name: "A", valueFrom: { configMapKeyRef: { name: "same", key: "a" } } },
    { name: "B", valueFrom: { configMapKeyRef: { name: "same", key: "b" } } },
    { name: "C", valueFrom: { secretKeyRef: { name: "same", key: "a" } } },
    { name: "D", valueFrom: { secretKeyRef: { key: "a" } } },
  ];
  assert.deepEqual(named({ containers: [container("app", { env })], imagePullSecrets: [{}] }), [
    "ConfigMap same",
    "Secret same",
  ]);
  assert.deepEqual(named({}), []);
});
