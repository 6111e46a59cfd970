import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import type { KnownObject } from "../cluster-objects/references.ts";
import { type FileSources, fileVolume } from "./file-volume.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const pod = (spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod => ({
  metadata: { name: "web", namespace: "shop", uid: "u1" },
  spec: { containers: [{ name: "app" }], ...spec },
});

const OBJECTS: ReadonlyMap<string, KnownObject<unknown>> = new Map<string, KnownObject<unknown>>([
  [
    "ConfigMap/shop/settings",
    { kind: "present", object: { data: { a: "1", b: "2" }, binaryData: { c: base64("3") } } },
  ],
  [
    "ConfigMap/shop/odd",
    {
      kind: "present",
      object: {
        data: Object.fromEntries([
          ["__proto__", "x"],
          ["constructor", "y"],
        ]),
      },
    },
  ],
  ["Secret/shop/keys", { kind: "present", object: { data: { key: base64("\u0000secret") } } }],
  ["ConfigMap/shop/gone", { kind: "missing" }],
  ["Secret/shop/gone", { kind: "missing" }],
  ["ConfigMap/shop/asked", { kind: "unknown", trouble: "the server is away" }],
]);

const sources: FileSources = {
  object: (key) => OBJECTS.get(key),
  token: ({ audience }) =>
    audience === "nobody"
      ? { kind: "failed", message: "failed to fetch token: no" }
      : { kind: "present", token: "t0ken" },
  field: ({ fieldRef }) =>
    fieldRef === undefined ? { kind: "refused", message: "no field" } : { kind: "text", text: fieldRef.fieldPath },
};

/** Paths with content and mode, or the reason why there are no files. */
function made(volume: Omit<Volume, "name">, of: Pod = pod()) {
  const result = fileVolume(of, { name: "v", ...volume }, sources);
  if (result.kind !== "files") return result;
  return [...result.files]
    .map(([path, { content, mode, uid }]) => [path, new TextDecoder().decode(content), mode, uid] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

test("[13.7] the keys of a ConfigMap become files, text and binary, with the requested mode", () => {
  assert.deepEqual(made({ configMap: { name: "settings" } }), [
    ["a", "1", 0o644, undefined],
    ["b", "2", 0o644, undefined],
    ["c", "3", 0o644, undefined],
  ]);
  assert.deepEqual(
    made({
      configMap: {
        name: "settings",
        defaultMode: 0o400,
        items: [
          { key: "a", path: "deep/er/a", mode: 0o755 },
          { key: "b", path: "b" },
        ],
      },
    }),
    [
      ["b", "2", 0o400, undefined],
      ["deep/er/a", "1", 0o755, undefined],
    ],
  );
});

test("[13.7] the keys __proto__ and constructor become files like any other", () => {
  assert.deepEqual(made({ configMap: { name: "odd" } }), [
    ["__proto__", "x", 0o644, undefined],
    ["constructor", "y", 0o644, undefined],
  ]);
});

test("[13.7] a secret's bytes are written unchanged", () => {
  const result = fileVolume(pod(), { name: "v", secret: { secretName: "keys", defaultMode: 0o400 } }, sources);
  assert(result.kind === "files");
  assert.deepEqual(result.files.get("key"), {
    content: new TextEncoder().encode("\u0000secret"),
    mode: 0o400,
    uid: undefined,
  });
});

for (const [what, volume, message] of [
  ["a missing configMap", { configMap: { name: "gone" } }, 'configmap "gone" not found'],
  ["a missing secret", { secret: { secretName: "gone" } }, 'secret "gone" not found'],
  [
    "a missing ConfigMap key",
    { configMap: { name: "settings", items: [{ key: "z", path: "z" }] } },
    "configmap references non-existent config key: z",
  ],
  [
    "a missing secret key",
    { secret: { secretName: "keys", items: [{ key: "z", path: "z" }] } },
    "references non-existent secret key: z",
  ],
  [
    "a path out of the volume",
    { configMap: { name: "settings", items: [{ key: "a", path: "x/../../y" }] } },
    "invalid path: must not contain '..': x/../../y",
  ],
  [
    "an absolute path",
    { configMap: { name: "settings", items: [{ key: "a", path: "/y" }] } },
    "invalid path: must be relative path: /y",
  ],
  [
    "a path that begins with ..",
    { configMap: { name: "settings", items: [{ key: "a", path: "..data" }] } },
    "invalid path: must not start with '..': ..data",
  ],
] as const) {
  test(`[13.7] ${what} is refused with upstream's message`, () => {
    assert.deepEqual(made(volume), { kind: "refused", message });
  });
}

test("[13.7] optional objects and keys may be missing", () => {
  assert.deepEqual(made({ configMap: { name: "gone", optional: true } }), []);
  assert.deepEqual(made({ secret: { secretName: "gone", optional: true, items: [{ key: "z", path: "z" }] } }), []);
  const items = [
    { key: "z", path: "z" },
    { key: "a", path: "a" },
  ];
  assert.deepEqual(made({ configMap: { name: "settings", optional: true, items } }), [["a", "1", 0o644, undefined]]);
});

test("an object that has not been read yet is waited for, with the last error", () => {
  assert.deepEqual(made({ configMap: { name: "asked" } }), { kind: "waits", why: "the server is away" });
  assert.deepEqual(made({ configMap: { name: "never asked" } }), { kind: "waits", why: undefined });
});

test("[13.10] a projected volume has the files of all sources, and reports all errors", () => {
  const projected = {
    sources: [
      { serviceAccountToken: { path: "token" } },
      { configMap: { name: "settings", items: [{ key: "a", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
      { secret: { name: "keys" } },
    ],
  };
  assert.deepEqual(
    (made({ projected }) as readonly (readonly unknown[])[]).map(([path]) => path),
    ["ca.crt", "key", "namespace", "token"],
  );
  const wrong = {
    sources: [{ configMap: { name: "gone" } }, { secret: { name: "gone" } }, { configMap: { name: "gone" } }],
  };
  assert.deepEqual(made({ projected: wrong }), {
    kind: "refused",
    message: '[configmap "gone" not found, secret "gone" not found]',
  });
});

test("[13.11] a token is restricted to the pod's one user or to fsGroup, and to nobody without either", () => {
  const projected = {
    defaultMode: 0o644,
    sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3607 } }],
  };
  const token = (of: Pod) => (made({ projected }, of) as readonly (readonly unknown[])[])[0];
  const as = (runAsUser: number) => ({ name: `c${runAsUser}`, securityContext: { runAsUser } });
  assert.deepEqual(token(pod()), ["token", "t0ken", 0o644, undefined]);
  assert.deepEqual(token(pod({ securityContext: { fsGroup: 5 } })), ["token", "t0ken", 0o600, undefined]);
  assert.deepEqual(token(pod({ securityContext: { runAsUser: 7 } })), ["token", "t0ken", 0o600, 7]);
  assert.deepEqual(token(pod({ containers: [as(7)], initContainers: [as(7)] })), ["token", "t0ken", 0o600, 7]);
  assert.deepEqual(token(pod({ containers: [as(7), as(8)] })), ["token", "t0ken", 0o644, undefined]);
  assert.deepEqual(token(pod({ containers: [as(7), { name: "any" }] })), ["token", "t0ken", 0o644, undefined]);
  assert.deepEqual(made({ projected: { sources: [{ serviceAccountToken: { path: "t", audience: "nobody" } }] } }), {
    kind: "refused",
    message: "failed to fetch token: no",
  });
});
