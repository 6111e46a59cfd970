/**
 * Cases of volumes with generated files: ConfigMap, Secret, downwardAPI, service account token and projected; and their
 * updates.
 */
import type { KeyToPath, Volume } from "../../../../src/api/gen/core-v1.ts";
import { configMaps, pods as podResource, secrets, serviceAccounts } from "../../../../src/api/resources.ts";
import { SIDES } from "../../../golden/sides.ts";
import {
  type Case,
  lasting,
  mountsOf,
  podName,
  RUNS,
  reported,
  SUCCEEDS,
  watching,
  withVolume,
  withVolumes,
} from "../case.ts";
import { bind, NAMESPACE, unscheduled } from "../objects.ts";

const forever = new AbortController().signal;
const LAYOUT = ["27.1.9", "27.1.11", "27.1.12"];

const ITEMS: readonly KeyToPath[] = [
  { key: "one", path: "renamed" },
  { key: "two", path: "deep/er/two", mode: 0o440 },
  { key: "dotted.name", path: "deep/dots", mode: 0o600 },
];
const wants = (key: string, optional?: boolean) => ({
  items: [{ key, path: key }],
  ...(optional === undefined ? {} : { optional }),
});

const MAPS: readonly Case[] = [
  { name: "map-whole", rows: ["13.7", ...LAYOUT], ending: RUNS, spec: withVolume({ configMap: { name: "words" } }) },
  { name: "map-prototype", rows: ["13.7"], ending: RUNS, spec: withVolume({ configMap: { name: "prototype" } }) },
  {
    name: "map-immutable",
    rows: ["13.7", "13.8"],
    ending: RUNS,
    spec: withVolume({ configMap: { name: "unchanging" } }),
  },
  {
    name: "map-items",
    rows: ["13.7", "27.1.11"],
    ending: RUNS,
    spec: withVolume({ configMap: { name: "words", items: ITEMS, defaultMode: 0o400 } }),
  },
  {
    name: "map-optional",
    rows: ["13.7"],
    ending: RUNS,
    spec: withVolumes([
      { name: "none", configMap: { name: "absent", optional: true } },
      { name: "part", configMap: { name: "words", items: [...ITEMS, { key: "absent", path: "x" }], optional: true } },
    ]),
  },
  {
    name: "map-missing",
    rows: ["13.7", "13.1"],
    ending: reported("not found"),
    spec: withVolumes([
      { name: "fine", configMap: { name: "words" } },
      { name: "absent", configMap: { name: "absent" } },
    ]),
  },
  {
    name: "map-missing-key",
    rows: ["13.7", "13.1", ...LAYOUT],
    ending: reported("references non-existent config key"),
    spec: withVolume({ configMap: { name: "words", ...wants("absent") } }),
  },
  {
    name: "secret-whole",
    rows: ["13.7", ...LAYOUT],
    ending: RUNS,
    spec: withVolume({ secret: { secretName: "hidden" } }),
  },
  {
    name: "secret-items",
    rows: ["13.7", "27.1.11"],
    ending: RUNS,
    spec: withVolume({
      secret: { secretName: "hidden", items: [{ key: "key", path: "a/b", mode: 0o404 }], defaultMode: 0o440 },
    }),
  },
  {
    name: "secret-optional",
    rows: ["13.7"],
    ending: RUNS,
    spec: withVolumes([
      { name: "none", secret: { secretName: "absent", optional: true } },
      { name: "part", secret: { secretName: "hidden", ...wants("absent", true) } },
    ]),
  },
  {
    name: "secret-missing",
    rows: ["13.7", "13.1"],
    ending: reported("not found"),
    spec: withVolume({ secret: { secretName: "absent" } }),
  },
  {
    name: "secret-missing-key",
    rows: ["13.7", "13.1"],
    ending: reported("references non-existent secret key"),
    spec: withVolume({ secret: { secretName: "hidden", ...wants("absent") } }),
  },
];

const METADATA = {
  labels: { app: "web", "example.com/tier": "front", empty: "" },
  annotations: { plain: "text", "example.com/odd": 'quote " back \\ tab\tnew\nline ü \u0001' },
};
const field = (path: string, fieldPath: string, mode?: number) => ({
  path,
  fieldRef: { fieldPath },
  ...(mode === undefined ? {} : { mode }),
});
const resource = (path: string, name: string, divisor = "0", containerName = "main") => ({
  path,
  resourceFieldRef: { containerName, resource: name, divisor },
});
const FIELDS = [
  field("name", "metadata.name"),
  field("deep/namespace", "metadata.namespace"),
  field("uid", "metadata.uid", 0o400),
  field("labels", "metadata.labels"),
  field("annotations", "metadata.annotations"),
  field("label", "metadata.labels['app']"),
  field("annotation", "metadata.annotations['example.com/odd']"),
  field("absent", "metadata.labels['absent']"),
];
const LIMITED = { limits: { cpu: "250m", memory: "64Mi" }, requests: { cpu: "100m", memory: "32Mi" } };

const OWN: readonly Case[] = [
  {
    name: "own-fields",
    rows: ["13.9", ...LAYOUT],
    ending: RUNS,
    metadata: METADATA,
    spec: withVolume({ downwardAPI: { items: FIELDS } }),
  },
  {
    name: "own-resources",
    rows: ["13.9"],
    ending: RUNS,
    spec: withVolume(
      {
        downwardAPI: {
          defaultMode: 0o440,
          items: [
            resource("cpu", "limits.cpu"),
            resource("milli", "limits.cpu", "1m"),
            resource("memory", "limits.memory"),
            resource("mebi", "requests.memory", "1Mi"),
            resource("ask", "requests.cpu", "1m"),
            resource("disk", "limits.ephemeral-storage", "1Gi"),
          ],
        },
      },
      { container: { resources: LIMITED, volumeMounts: [{ name: "data", mountPath: "/v/data" }] } },
    ),
  },
  {
    name: "own-resources-unset",
    rows: ["13.9"],
    ending: RUNS,
    spec: withVolume({
      downwardAPI: {
        items: [resource("cpu", "limits.cpu"), resource("memory", "limits.memory"), resource("ask", "requests.cpu")],
      },
    }),
  },
  {
    name: "own-resources-unknown",
    rows: ["13.9", "13.1"],
    ending: reported("not found"),
    spec: withVolume({ downwardAPI: { items: [resource("cpu", "limits.cpu", "0", "nobody")] } }),
  },
];

const token = (more: { readonly audience?: string; readonly expirationSeconds?: number } = {}): Volume => ({
  name: "token",
  projected: { sources: [{ serviceAccountToken: { path: "token", ...more } }] },
});

const TOGETHER: readonly Case[] = [
  {
    name: "together-all",
    rows: ["13.10", ...LAYOUT],
    ending: RUNS,
    metadata: METADATA,
    spec: withVolume({
      projected: {
        defaultMode: 0o440,
        sources: [
          { configMap: { name: "words", items: ITEMS } },
          { secret: { name: "hidden", items: [{ key: "user", path: "deep/user", mode: 0o600 }] } },
          { downwardAPI: { items: FIELDS } },
          { serviceAccountToken: { path: "deep/token", expirationSeconds: 700 } },
        ],
      },
    }),
  },
  {
    name: "together-optional",
    rows: ["13.10"],
    ending: RUNS,
    spec: withVolume({
      projected: {
        sources: [
          { configMap: { name: "absent", optional: true } },
          { secret: { name: "absent", optional: true } },
          { secret: { name: "hidden", ...wants("absent", true) } },
          { configMap: { name: "words", ...wants("one") } },
        ],
      },
    }),
  },
  { name: "together-nothing", rows: ["13.10"], ending: RUNS, spec: withVolume({ projected: { sources: [] } }) },
  {
    name: "together-missing",
    rows: ["13.10", "13.1"],
    ending: reported("not found"),
    spec: withVolume({
      projected: { sources: [{ configMap: { name: "words" } }, { secret: { name: "absent" } }] },
    }),
  },
  {
    name: "together-missing-key",
    rows: ["13.10", "13.1"],
    ending: reported("references non-existent"),
    spec: withVolume({ projected: { sources: [{ configMap: { name: "words", ...wants("absent") } }] } }),
  },
];

const asUser = (user: number) => ({ securityContext: { runAsUser: user } });

const TOKENS: readonly Case[] = [
  {
    name: "token-usual",
    rows: ["13.11", "13.10"],
    ending: RUNS,
    spec: { automountServiceAccountToken: true, serviceAccountName: "builder", containers: [lasting()] },
  },
  {
    name: "token-audience",
    rows: ["13.11"],
    ending: RUNS,
    spec: withVolumes([token({ audience: "somebody", expirationSeconds: 1200 })]),
  },
  { name: "token-user", rows: ["13.11"], ending: RUNS, spec: withVolumes([token()], { pod: asUser(1000) }) },
  {
    name: "token-users",
    rows: ["13.11"],
    ending: RUNS,
    spec: {
      volumes: [token()],
      containers: [
        lasting({ volumeMounts: mountsOf([token()]), ...asUser(1000) }),
        lasting({ name: "other", volumeMounts: mountsOf([token()]), ...asUser(2000) }),
      ],
    },
  },
  {
    name: "token-group",
    rows: ["13.11", "13.13"],
    ending: RUNS,
    spec: withVolumes([token()], { pod: { securityContext: { runAsUser: 1000, fsGroup: 3000 } } }),
  },
  {
    name: "token-without-account",
    rows: ["13.11", "13.1"],
    ending: reported("token"),
    leavesOut: {
      part: "requests",
      keys: /^RunPodSandbox$/,
      why: "Deckhand creates a sandbox while volumes are being mounted, unless the API server refuses the token first",
    },
    spec: ({ node }) => ({ serviceAccountName: `short-lived-${node}`, ...withVolumes([token()]) }),
    create: async (world, pod, side) => {
      const account = { name: `short-lived-${world.place(side).node}`, namespace: NAMESPACE };
      const { api } = world.pods;
      await api.create(serviceAccounts, { metadata: account }, forever);
      await world.pods.create(unscheduled(pod));
      await api.delete(serviceAccounts, account, {}, forever);
      await bind(world, pod.metadata?.name ?? "", world.place(side).node);
    },
  },
];

const merge = (body: unknown) => ({ kind: "merge", body }) as const;
const named = (name: string) => ({ name, namespace: NAMESPACE });
const base64 = (text: string) => Buffer.from(text).toString("base64");

/**
 * Longer than the Go kubelet waits for volumes at a time, which is 2 minutes and 3 seconds. By then Deckhand has
 * reported every missing volume; a simulator test covers what it reports after two minutes.
 */
export const PATIENT_CASES: readonly Case[] = [
  {
    name: "map-missing-long",
    rows: ["13.1"],
    ending: { kind: "stays", forMs: { go: 128_000, deckhand: 0 } },
    leavesOut: {
      part: "events",
      keys: /^Warning FailedMount - Unable to attach or mount volumes: unmounted volumes=\[absent hidden\], .* timed out/,
      why: "after two minutes Deckhand reports the missing volumes; the Go kubelet 1.36.4 means to, but mistakes its own deadline for a canceled call",
    },
    spec: withVolumes([
      { name: "fine", configMap: { name: "words" } },
      { name: "absent", configMap: { name: "absent" } },
      { name: "hidden", secret: { secretName: "absent" } },
    ]),
  },
];

/**
 * The objects change while a container watches. The Go kubelet takes up to 90 seconds; Deckhand updates the files at
 * once.
 */
export const LIVE_CASES: readonly Case[] = [
  {
    name: "live-files",
    rows: ["13.8", "13.7", "13.14"],
    ending: SUCCEEDS,
    spec: {
      volumes: [
        { name: "map", configMap: { name: "alive" } },
        { name: "hidden", secret: { secretName: "alive-secret" } },
        { name: "all", projected: { sources: [{ configMap: { name: "alive" } }] } },
        { name: "late", configMap: { name: "comes-late", optional: true } },
      ],
      containers: [
        watching(
          "grep -q new /v/map/word && grep -q new /v/hidden/word && grep -q new /v/all/word && grep -q late /v/late/word",
          4,
          {
            env: [{ name: "WORD", valueFrom: { configMapKeyRef: { name: "alive", key: "word" } } }],
            volumeMounts: [
              ...["map", "hidden", "all", "late"].map((name) => ({ name, mountPath: `/v/${name}` })),
              { name: "map", mountPath: "/v/word", subPath: "word" },
            ],
          },
        ),
      ],
    },
    meanwhile: async ({ pods: { api } }) => {
      await api.patch(
        configMaps,
        named("alive"),
        merge({ data: { word: "new", gone: null, added: "x" } }),
        {},
        forever,
      );
      await api.patch(secrets, named("alive-secret"), merge({ data: { word: base64("new") } }), {}, forever);
      await api.create(configMaps, { metadata: named("comes-late"), data: { word: "late" } }, forever);
    },
  },
  {
    name: "live-labels",
    rows: ["13.9", "13.8"],
    ending: SUCCEEDS,
    metadata: METADATA,
    spec: {
      volumes: [{ name: "data", downwardAPI: { items: FIELDS } }],
      containers: [
        watching("grep -q changed /v/data/label", 1, {
          env: [{ name: "APP", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } }],
          volumeMounts: [{ name: "data", mountPath: "/v/data" }],
        }),
      ],
    },
    meanwhile: async ({ pods: { api } }) => {
      for (const side of SIDES) {
        const name = named(podName({ name: "live-labels" }, side));
        await api.patch(podResource, name, merge({ metadata: { labels: { app: "changed" } } }), {}, forever);
      }
    },
  },
  {
    name: "live-lost-key",
    rows: ["13.8", "13.1"],
    ending: reported("references non-existent config key"),
    spec: withVolume({ configMap: { name: "loses-a-key", ...wants("lost") } }),
    meanwhile: async ({ pods: { api } }) => {
      await api.patch(configMaps, named("loses-a-key"), merge({ data: { lost: null } }), {}, forever);
    },
  },
];

export const FILE_CASES: readonly Case[] = [...MAPS, ...OWN, ...TOGETHER, ...TOKENS];
