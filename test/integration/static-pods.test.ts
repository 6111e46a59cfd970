/** A manifest read by us and by a real API server: the same defaults, the same refusals. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { decodePod } from "../../src/domain/pod/decode-pod.ts";
import { defaultPod } from "../../src/domain/pod/static-pod-defaults.ts";
import { podErrors } from "../../src/domain/pod/static-pod-validation.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { badManifests, goodManifests } from "../support/pod-manifests.ts";
import { rawApi } from "../support/raw-api.ts";

const PODS = "/api/v1/namespaces/default/pods?dryRun=All";

function read(manifest: unknown): Pod {
  const decoded = decodePod(manifest);
  assert.equal(decoded.kind, "ok", decoded.kind === "refused" ? decoded.reason : "");
  return defaultPod(decoded.value);
}

/** What plugins of the API server add, which has nothing to do with defaults. */
const addedByPlugins = ["priority", "preemptionPolicy", "serviceAccount", "serviceAccountName", "tolerations"];

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === "" ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Where two specs differ. A field one side leaves out must be empty on the other. */
function differences(ours: unknown, theirs: unknown, path: string): readonly string[] {
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
  if (isObject(ours) && isObject(theirs) && Array.isArray(ours) === Array.isArray(theirs)) {
    const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    return [...keys].flatMap((key) => differences(ours[key], theirs[key], `${path}.${key}`));
  }
  if (ours === theirs || (isEmpty(ours) && theirs === undefined)) return [];
  return [`${path}: ours ${JSON.stringify(ours)}, the server's ${JSON.stringify(theirs)}`];
}

describe("a manifest, read by us and by the API server", () => {
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

  test(`[4.4] ${goodManifests.length} manifests have the defaults the API server gives them, field by field`, async () => {
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

  test(`[4.4] ${badManifests.length} bad manifests are refused with the API server's own words`, async () => {
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
