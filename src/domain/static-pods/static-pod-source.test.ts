import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec, Volume } from "../../api/gen/core-v1.ts";
import { CONFIG_HASH } from "../pod/pod-identity.ts";
import { identified, type ManifestOrigin, prepareManifest, type StaticManifest } from "./static-pod-source.ts";

const file: ManifestOrigin = { kind: "file", path: "/etc/kubernetes/manifests/web.yaml" };
const url: ManifestOrigin = { kind: "http", url: "http://pods.example/web" };

const web = (spec: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", ...metadata },
  spec: { containers: [{ name: "a", image: "i:1" }], ...spec },
});

function prepared(manifest: unknown, origin = file, node = "node-1"): StaticManifest {
  const result = prepareManifest(manifest, origin, node);
  assert.equal(result.kind, "ok", result.kind === "refused" ? result.reason : "");
  if (result.kind !== "ok") throw new Error("unreachable");
  return result.manifest;
}

const reasonOf = (manifest: unknown) => {
  const result = prepareManifest(manifest, file, "n1");
  return result.kind === "refused" ? result.reason : "";
};

test("[4.4] a pod from a file gets the node's name, the default namespace and a NoExecute toleration", () => {
  const { pod } = prepared(web());
  assert.deepEqual([pod.metadata?.name, pod.metadata?.namespace], ["web-node-1", "default"]);
  assert.equal(pod.spec?.nodeName, "node-1");
  assert.deepEqual(pod.spec?.tolerations, [{ operator: "Exists", effect: "NoExecute" }]);
  assert.deepEqual(pod.status, { phase: "Pending" });
});

test("[4.4] a manifest keeps its namespace and tolerations, and gets no second NoExecute toleration", () => {
  const tolerations = [
    { key: "a", operator: "Exists" },
    { operator: "Exists", effect: "NoExecute", tolerationSeconds: 3 },
  ];
  const { pod } = prepared(web({ tolerations }, { namespace: "kube-system" }));
  assert.equal(pod.metadata?.namespace, "kube-system");
  assert.deepEqual(pod.spec?.tolerations, [
    { key: "a", operator: "Exists" },
    { operator: "Exists", effect: "NoExecute" },
  ]);
});

test("[4.6] a pod from a URL gets no toleration", () => {
  assert.equal(prepared(web(), url).pod.spec?.tolerations, undefined);
});

test("[4.5] [27.2.7] the UID is 32 hex digits from content, node and file, and equals the hash annotation", () => {
  const first = prepared(web());
  assert.match(first.ownUid, /^[0-9a-f]{32}$/);
  const others = [
    prepared(web({ hostNetwork: true })),
    prepared(web({}, { labels: { a: "b" } })),
    prepared(web(), { kind: "file", path: "/other.yaml" }),
    prepared(web(), file, "n2"),
    prepared(web(), url),
  ];
  assert.equal(new Set([first, ...others].map(({ ownUid }) => ownUid)).size, 6);
  const pod = identified(first, first.ownUid, first.ownUid);
  assert.deepEqual([pod.metadata?.uid, pod.metadata?.annotations?.[CONFIG_HASH]], [first.ownUid, first.ownUid]);
});

test("[4.5] the UID does not depend on key order, nulls or unknown fields", () => {
  const { metadata, kind, apiVersion, spec } = web();
  const rewritten = { spec: { ...spec, unknown: 1, hostname: null }, apiVersion, kind, metadata };
  assert.equal(prepared(rewritten).ownUid, prepared(web()).ownUid);
});

test("[4.4] a manifest without a name, or with an invalid field, is refused with the reason", () => {
  assert.equal(reasonOf(web({}, { name: "" })), "invalid pod: name is needed for the pod");
  assert.equal(
    reasonOf(web({ containers: [{ name: "A", image: "" }], restartPolicy: "No" })),
    'invalid pod: [spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric ' +
      "characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for " +
      "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?') spec.containers[0].image: Required value spec.restartPolicy: Unsupported " +
      'value: "No": supported values: "Always", "OnFailure", "Never"]',
  );
});

const volume = (source: Partial<Volume>) => web({ volumes: [{ name: "v", ...source }] });
const projected = (source: object) => volume({ projected: { sources: [source] } });
const env = (valueFrom: object) => web({ containers: [{ name: "a", image: "i:1", env: [{ name: "A", valueFrom }] }] });

const references: readonly (readonly [string, unknown, string])[] = [
  ["a service account", web({ serviceAccountName: "x" }), "serviceaccounts"],
  ["a service account by its deprecated field", web({ serviceAccount: "x" }), "serviceaccounts"],
  ["an image pull secret", web({ imagePullSecrets: [{ name: "x" }] }), "secrets"],
  ["a secret as an environment variable", env({ secretKeyRef: { name: "x", key: "k" } }), "secrets"],
  ["a secret as a volume", volume({ secret: { secretName: "x" } }), "secrets"],
  ["a ConfigMap as an environment variable", env({ configMapKeyRef: { name: "x", key: "k" } }), "configmaps"],
  ["a ConfigMap as a volume", volume({ configMap: { name: "x" } }), "configmaps"],
  [
    "an optional ConfigMap without a name",
    volume({ configMap: { optional: true } }),
    "configmaps (via configmap volumes)",
  ],
  ["a projected secret", projected({ secret: { name: "x" } }), "secrets"],
  ["a PersistentVolumeClaim", volume({ persistentVolumeClaim: { claimName: "x" } }), "persistentvolumeclaims"],
  [
    "an ephemeral volume",
    volume({ ephemeral: { volumeClaimTemplate: { spec: {} } } }),
    "persistentvolumeclaims (via ephemeral volumes)",
  ],
  ["a CSI driver", volume({ csi: { driver: "d" } }), "csidrivers (via CSI volumes)"],
  [
    "a projected service account token",
    projected({ serviceAccountToken: { path: "t" } }),
    "serviceaccounts (via projected volumes)",
  ],
  ["a ClusterTrustBundle", projected({ clusterTrustBundle: { path: "t" } }), "clustertrustbundles"],
  ["a pod certificate", projected({ podCertificate: { signerName: "s", keyType: "ED25519" } }), "podcertificates"],
  ["a ResourceClaim", web({ resourceClaims: [{ name: "x", resourceClaimName: "y" }] }), "resourceclaims"],
];
for (const [name, manifest, resource] of references) {
  test(`[4.7] a static pod may not reference ${name}`, () => {
    assert.equal(reasonOf(manifest), `static pods may not reference ${resource}`);
  });
}

test("[4.7] a static pod may use volumes that need no API server", () => {
  const downward = { downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } };
  for (const manifest of [volume({ hostPath: { path: "/x" } }), volume({ emptyDir: {} }), projected(downward)]) {
    assert.equal(reasonOf(manifest), "");
  }
});
