import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../../test/support/pods.ts";
import type { Container, EnvVar, Pod } from "../../../api/gen/core-v1.ts";
import type { ApiObject } from "../../../api/resource.ts";
import { utf8Bytes, utf8Text } from "../../../base/utf8.ts";
import { type KnownObject, objectKey } from "../../cluster-objects/references.ts";
import { CONFIG_SOURCE } from "../../pod/pod-identity.ts";
import { containerEnvironment, type EnvFile, type EnvironmentInputs } from "./container-environment.ts";

const POD = pod({ nodeName: "n1", serviceAccountName: "robot" }, { name: "web", namespace: "shop" });
const KUBERNETES = {
  metadata: { namespace: "default", name: "kubernetes" },
  spec: { clusterIP: "198.19.0.1", ports: [{ port: 443 }] },
};

const object = (kind: "ConfigMap" | "Secret", name: string, fields: object) =>
  [objectKey(kind, "shop", name), { kind: "present", object: { metadata: { name }, ...fields } as ApiObject }] as const;

function given(known: Iterable<readonly [string, KnownObject<ApiObject>]> = [], more: Partial<EnvironmentInputs> = {}) {
  const objects = new Map(known);
  return (own: Partial<Container>, of: Pod = POD) =>
    containerEnvironment({
      pod: of,
      container: container("app", own),
      podIps: ["198.18.0.5"],
      hostIps: ["192.0.2.1"],
      allocatable: { cpu: "4" },
      services: new Map(),
      lookup: (key) => objects.get(key),
      envFile: (): EnvFile => ({ kind: "noVolume" }),
      ...more,
    });
}

type Made = ReturnType<ReturnType<typeof given>>;
const lines = (made: Made) => {
  if (made.kind === "ready") return made.variables.map(({ name, value }) => `${name}=${utf8Text(value) ?? "?"}`);
  return made.kind === "waits" ? `waits: ${made.message}` : `refused: ${made.message}`;
};

const [unknown, missing] = [{ kind: "unknown", trouble: undefined }, { kind: "missing" }] as const;
const fromMap = (name: string, key: string, optional?: boolean): EnvVar["valueFrom"] => ({
  configMapKeyRef: { name, key, ...(optional === undefined ? {} : { optional }) },
});
const fromSecret = (name: string, key: string, optional?: boolean): EnvVar["valueFrom"] => ({
  secretKeyRef: { name, key, ...(optional === undefined ? {} : { optional }) },
});
const env = (...variables: readonly (readonly [string, string | EnvVar["valueFrom"]])[]): Partial<Container> => ({
  env: variables.map(([name, value]) =>
    typeof value === "string" ? { name, value } : { name, ...(value === undefined ? {} : { valueFrom: value }) },
  ),
});

test("[24.7] envFrom with its prefixes precedes env, and the last definition of a name wins", () => {
  const make = given([
    object("ConfigMap", "settings", { data: { b: "map-b", a: "map-a", SHARED: "map" }, binaryData: { c: "AA==" } }),
    object("Secret", "hidden", { data: { a: "c2VjcmV0", SHARED: "c2VjcmV0" } }),
  ]);
  const made = make({
    envFrom: [{ configMapRef: { name: "settings" } }, { prefix: "P_", secretRef: { name: "hidden" } }, { prefix: "x" }],
    ...env(["OWN", "1"], ["a", "env"], ["OWN", "2"], ["EMPTY", ""]),
  });
  assert.deepEqual(lines(made), ["SHARED=map", "a=env", "b=map-b", "P_SHARED=secret", "P_a=secret", "OWN=2", "EMPTY="]);
  const both = { envFrom: [{ configMapRef: { name: "settings" } }, { secretRef: { name: "hidden" } }] };
  assert.deepEqual(lines(make(both)), ["SHARED=secret", "a=secret", "b=map-b"]);
});

test("[24.7] a reference expands earlier variables, envFrom and Services, and nothing defined later", () => {
  const make = given([object("ConfigMap", "settings", { data: { HOST: "db", RAW: "$(HOST)" } })], {
    services: new Map([["default/kubernetes", KUBERNETES]]),
  });
  const made = make({
    envFrom: [{ configMapRef: { name: "settings" } }],
    ...env(
      ["EARLY", "$(LATE)"],
      ["URL", "http://$(HOST):$(KUBERNETES_SERVICE_PORT)/$(RAW)"],
      ["LATE", "$$(HOST)"],
      ["HOST", "$(HOST)-2"],
      ["TAKEN", fromMap("settings", "RAW")],
    ),
  });
  assert.deepEqual((lines(made) as readonly string[]).slice(0, 6), [
    "HOST=db-2",
    "RAW=$(HOST)",
    "EARLY=$(LATE)",
    "URL=http://db:443/$(HOST)",
    "LATE=$(HOST)",
    "TAKEN=$(HOST)",
  ]);
});

test("[24.6] [24.7] Service variables come last and never replace the container's own", () => {
  const make = given([], { services: new Map([["default/kubernetes", KUBERNETES]]) });
  const made = make(env(["KUBERNETES_SERVICE_HOST", "mine"])) as Extract<Made, { kind: "ready" }>;
  const names = made.variables.map(({ name }) => name);
  assert.deepEqual(names.slice(0, 2), ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"]);
  assert.equal(utf8Text(made.variables[0]?.value ?? utf8Bytes("")), "mine");
  assert.equal(new Set(names).size, names.length);
});

test("[24.6] pods from the API server wait until Services have been listed, static pods do not", () => {
  const make = given([], { services: undefined });
  const message = "services have not yet been read at least once, cannot construct envvars";
  assert.deepEqual(make(env(["A", "1"])), { kind: "waits", for: ["services"], message });
  const ofFile = pod({}, { namespace: "shop", annotations: { [CONFIG_SOURCE]: "file" } });
  assert.deepEqual(lines(make(env(["A", "1"]), ofFile)), ["A=1"]);
});

test("[24.6] a pod with enableServiceLinks false gets only the API server's Service", () => {
  const own = { metadata: { namespace: "shop", name: "own" }, spec: { clusterIP: "198.19.0.2", ports: [{ port: 1 }] } };
  const make = given([], { services: new Map(Object.entries({ "shop/own": own, "default/kubernetes": KUBERNETES })) });
  const hasOwn = (links: boolean | undefined) => {
    const of = pod(links === undefined ? {} : { enableServiceLinks: links }, { namespace: "shop" });
    const made = lines(make({}, of)) as readonly string[];
    assert.ok(made.includes("KUBERNETES_SERVICE_HOST=198.19.0.1"));
    return made.includes("OWN_SERVICE_HOST=198.19.0.2");
  };
  assert.deepEqual([hasOwn(undefined), hasOwn(true), hasOwn(false)], [true, true, false]);
});

test("[24.7] a Secret value is bytes, a ConfigMap value text, and __proto__ is an ordinary key", () => {
  const data = JSON.parse('{"__proto__":"own"}') as Record<string, string>;
  const make = given([
    object("Secret", "hidden", { data: { raw: "/wD+" } }),
    object("ConfigMap", "settings", { data }),
    object("ConfigMap", "bare", {}),
  ]);
  const made = make(env(["RAW", fromSecret("hidden", "raw")], ["PROTO", fromMap("settings", "__proto__")]));
  assert.deepEqual(made, {
    kind: "ready",
    variables: [
      { name: "RAW", value: Uint8Array.of(0xff, 0, 0xfe) },
      { name: "PROTO", value: utf8Bytes("own") },
    ],
  });
  assert.equal(
    lines(make(env(["X", fromMap("bare", "__proto__")]))),
    "refused: couldn't find key __proto__ in ConfigMap shop/bare",
  );
});

test("[24.7] a missing required object or key is refused with upstream's message and names the object", () => {
  const make = given([
    [objectKey("ConfigMap", "shop", "gone"), missing],
    [objectKey("Secret", "shop", "gone"), missing],
    object("ConfigMap", "settings", { data: { a: "1" } }),
    object("Secret", "hidden", {}),
  ]);
  for (const [own, message, over] of [
    [env(["A", fromMap("gone", "k")]), 'configmap "gone" not found', "ConfigMap/shop/gone"],
    [env(["A", fromSecret("gone", "k")]), 'secret "gone" not found', "Secret/shop/gone"],
    [{ envFrom: [{ configMapRef: { name: "gone" } }] }, 'configmap "gone" not found', "ConfigMap/shop/gone"],
    [{ envFrom: [{ secretRef: { name: "gone", optional: false } }] }, 'secret "gone" not found', "Secret/shop/gone"],
    [env(["A", fromMap("settings", "k")]), "couldn't find key k in ConfigMap shop/settings", "ConfigMap/shop/settings"],
    [env(["A", fromSecret("hidden", "k")]), "couldn't find key k in Secret shop/hidden", "Secret/shop/hidden"],
  ] as const) {
    assert.deepEqual(make(own), { kind: "refused", message, over: [over] });
  }
});

test("[24.7] a missing optional object or key sets no variable and keeps an earlier one of that name", () => {
  const make = given([
    [objectKey("ConfigMap", "shop", "gone"), missing],
    [objectKey("Secret", "shop", "gone"), missing],
    object("ConfigMap", "settings", { data: { A: "before" } }),
  ]);
  const made = make({
    envFrom: [
      { configMapRef: { name: "settings" } },
      { configMapRef: { name: "gone", optional: true } },
      { secretRef: { name: "gone", optional: true } },
    ],
    ...env(
      ["A", fromMap("gone", "k", true)],
      ["B", fromSecret("gone", "k", true)],
      ["C", fromMap("settings", "none", true)],
    ),
  });
  assert.deepEqual(lines(made), ["A=before"]);
});

test("[24.7] a container waits for all its objects that are not observed yet, optional ones included", () => {
  const make = given([
    [objectKey("ConfigMap", "shop", "slow"), unknown],
    [objectKey("Secret", "shop", "slow"), { kind: "unknown", trouble: "no permission" }],
    object("ConfigMap", "settings", { data: { a: "1" } }),
  ]);
  const made = make({
    envFrom: [{ configMapRef: { name: "settings" } }, { configMapRef: { name: "slow", optional: true } }],
    ...env(["A", fromSecret("slow", "k")]),
  });
  assert.deepEqual(made, {
    kind: "waits",
    for: ["ConfigMap/shop/slow", "Secret/shop/slow"],
    message: "failed to sync configmap cache: timed out waiting for the condition",
  });
  const alone = make(env(["A", fromSecret("slow", "k")]));
  assert.equal(lines(alone), "waits: failed to sync secret cache: timed out waiting for the condition");
  assert.deepEqual(make(env(["A", fromMap("never", "k")])), {
    kind: "waits",
    for: ["ConfigMap/shop/never"],
    message: 'object "shop"/"never" not registered',
  });
});

test("[24.8] [24.9] fieldRef and resourceFieldRef are resolved; unsupported ones get upstream's message", () => {
  const make = given();
  const field = (fieldPath: string) => ({ fieldRef: { apiVersion: "v1", fieldPath } });
  const made = make(
    env(
      ["NAME", field("metadata.name")],
      ["POD_IP", field("status.podIP")],
      ["HOST_IP", field("status.hostIP")],
      ["NODE", field("spec.nodeName")],
      ["CPUS", { resourceFieldRef: { resource: "limits.cpu" } }],
      ["NOTHING", {}],
      ["ALL", "$(NAME)@$(NODE)"],
    ),
  );
  assert.deepEqual(lines(made), [
    "NAME=web",
    "POD_IP=198.18.0.5",
    "HOST_IP=192.0.2.1",
    "NODE=n1",
    "CPUS=4",
    "NOTHING=",
    "ALL=web@n1",
  ]);
  assert.deepEqual(make(env(["X", field("spec.x")])), {
    kind: "refused",
    message: "field label not supported: spec.x",
    over: [],
  });
  const gpu = make(env(["X", { resourceFieldRef: { resource: "limits.gpu" } }]));
  assert.equal(lines(gpu), "refused: unsupported container resource : limits.gpu");
});

test("[24.10] fileKeyRef reads a key of a file in a volume, and failures have upstream's messages", () => {
  const files: Readonly<Record<string, EnvFile>> = {
    good: { kind: "read", hostPath: "/vol/good", content: utf8Bytes("A='one'\nB=''\n") },
    bad: { kind: "read", hostPath: "/vol/bad", content: utf8Bytes("A=one") },
    away: { kind: "unreadable" },
  };
  const make = given([], {
    envFile: (volume, path) => (volume === "v" ? files[path] : undefined) ?? { kind: "noVolume" },
  });
  const file = (path: string, key: string, optional = false, volumeName = "v") =>
    lines(make(env(["X", { fileKeyRef: { volumeName, path, key, optional } }])));
  assert.deepEqual(file("good", "A"), ["X=one"]);
  assert.equal(file("good", "B"), 'refused: environment variable key "B" not found in file "/vol/good"');
  assert.deepEqual([file("good", "B", true), file("good", "NONE", true)], [[], []]);
  assert.equal(file("bad", "A", true), "refused: couldn't parse env file");
  assert.equal(file("away", "A", true), "refused: couldn't parse env file");
  assert.equal(file("good", "A", false, "w"), 'refused: cannot find the volume "w" referenced by FileKeyRef');
});
