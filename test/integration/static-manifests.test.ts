/** A manifest read by Deckhand and by a real API server: the same defaults, the same rejections. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { parseManifest } from "../../src/controllers/pod-sources/parse-manifest.ts";
import { decodePod } from "../../src/domain/static-pods/decode-pod.ts";
import { defaultPod } from "../../src/domain/static-pods/static-pod-defaults.ts";
import { podErrors } from "../../src/domain/static-pods/static-pod-validation.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { badManifests, goodManifests } from "../support/pod-manifests.ts";
import { rawApi } from "../support/raw-api.ts";

const PODS = "/api/v1/namespaces/default/pods?dryRun=All";

function read(manifest: unknown): Pod {
  const decoded = decodePod(manifest);
  assert.equal(decoded.kind, "ok", decoded.kind === "refused" ? decoded.reason : "");
  return defaultPod(decoded.value);
}

/** Fields that admission plugins of the API server add; they are no defaults. */
const addedByPlugins = ["priority", "preemptionPolicy", "serviceAccount", "serviceAccountName", "tolerations"];

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === "" ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Where two specs differ. A field that one side omits must be empty on the other. */
function differences(ours: unknown, theirs: unknown, path: string): readonly string[] {
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
  if (isObject(ours) && isObject(theirs) && Array.isArray(ours) === Array.isArray(theirs)) {
    const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    return [...keys].flatMap((key) => differences(ours[key], theirs[key], `${path}.${key}`));
  }
  if (ours === theirs || (isEmpty(ours) && theirs === undefined)) return [];
  return [`${path}: ours ${JSON.stringify(ours)}, the server's ${JSON.stringify(theirs)}`];
}

/** Scalars that YAML versions interpret differently. */
const scalars = `
  - 0644
  - 0o644
  - 0x1F
  - 0b101
  - 1_000
  - 1e3
  - 1.5
  - .5
  - +1
  - -0
  - 08
  - 0755.5
  - 12:30
  - 12:30:45
  - 2026-01-01
  - 2026-01-01T00:00:00Z
  - yes
  - No
  - on
  - OFF
  - y
  - n
  - Y
  - True
  - ~
  - null
  - Null
  - ""
  - "0644"
  - '0x1'
  - 1.2.3
  - 100m
  - 1Gi
  - <<
  - "=": x
  - !!str 12
  - |
    text
    more
  - >-
    folded
    text
  - {a: 1, b: [2, 3]}
  - [x, "y: z"]
`;

describe("a manifest, read by Deckhand and by the API server", () => {
  let cluster: Cluster;
  let api: Awaited<ReturnType<typeof rawApi>>;

  before(async () => {
    cluster = await startCluster({ controlPlane: "api", nodes: [] });
    api = await rawApi(cluster);
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    assert.equal((await api("POST", "/api/v1/namespaces/default/serviceaccounts", account)).status, 201);
  });

  after(async () => {
    await cluster.down();
  });

  test("[4.4] YAML is parsed as kubectl parses it, scalar by scalar", async () => {
    const text = `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  x:${scalars.replaceAll("\n", "\n  ")}\n---\nother: document\n`;
    const directory = await mkdtemp(join(tmpdir(), "yaml-"));
    try {
      const file = join(directory, "pod.yaml");
      await writeFile(file, text.replace(/---[^]*$/, ""));
      const flags = ["--dry-run=client", "--validate=false", "-o", "json"];
      const theirs = JSON.parse(await cluster.kubectl("create", "-f", file, ...flags)) as { spec: { x: unknown } };
      const ours = parseManifest(new TextEncoder().encode(text));
      // Through JSON, which has no negative zero.
      const read = JSON.parse(JSON.stringify(ours.kind === "ok" ? ours.value : ours)) as typeof theirs;
      assert.deepEqual(read.spec.x, theirs.spec.x);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test("[4.4] manifests get the API server's defaults, field by field", async (t) => {
    t.diagnostic(`${goodManifests.length} manifests`);
    assert.ok(goodManifests.length >= 30);
    const found: string[] = [];
    for (const [name, manifest] of goodManifests) {
      const { status, body } = await api("POST", PODS, manifest);
      assert.equal(status, 201, `${name}: ${JSON.stringify(body)}`);
      const ours = Object.entries(read(manifest).spec ?? {}).filter(([field]) => !addedByPlugins.includes(field));
      const theirs = Object.entries((body as Pod).spec ?? {}).filter(([field]) => !addedByPlugins.includes(field));
      found.push(...differences(Object.fromEntries(ours), Object.fromEntries(theirs), name));
      assert.deepEqual(podErrors(read(manifest)), [], `${name}: we refuse what the server takes`);
    }
    assert.deepEqual(found, []);
  });

  test("[4.4] bad manifests are rejected with the API server's messages", async (t) => {
    t.diagnostic(`${badManifests.length} manifests`);
    const found: string[] = [];
    for (const [name, manifest] of badManifests) {
      const { status, body } = await api("POST", PODS, manifest);
      assert.equal(status, 422, `${name}: ${JSON.stringify(body)}`);
      const { details } = body as { details: { causes: readonly { field: string; message: string }[] } };
      const theirs = details.causes.map(({ field, message }) => `${field}: ${message}`).toSorted();
      const ours = podErrors(read(manifest)).toSorted();
      if (JSON.stringify(ours) !== JSON.stringify(theirs)) {
        found.push(`${name}\n    ours:   ${ours.join("\n            ")}\n    theirs: ${theirs.join("\n            ")}`);
      }
    }
    assert.equal(found.length, 0, `\n  ${found.join("\n  ")}`);
  });
});
