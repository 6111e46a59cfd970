/**
 * Generates `src/api/gen/*.ts` from the OpenAPI v3 documents of a running kube-apiserver: the kinds listed here and all
 * types that they refer to, one file per group and version. It copies names and shapes, never descriptions. The same
 * server gives the same bytes.
 */
import { readFile, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { join } from "node:path";
import { collectTypes, type Schema, type SchemaTable } from "./collect-types.ts";
import type { Generator } from "./generator.ts";
import { printModules } from "./print-types.ts";
import { printShapes } from "./shapes.ts";

interface Wanted {
  /** As named in the server's index of documents. */
  readonly document: string;
  readonly kinds: readonly string[];
  /** Skipped without an error when the server does not serve the document or the kind. */
  readonly optional?: boolean;
}

const coreKinds = [
  "Pod",
  "Node",
  "Event",
  "Secret",
  "ConfigMap",
  "Service",
  "ServiceAccount",
  "Namespace",
  "PersistentVolume",
  "PersistentVolumeClaim",
];

const wanted: readonly Wanted[] = [
  {
    document: "api/v1",
    kinds: coreKinds.map((kind) => `io.k8s.api.core.v1.${kind}`),
  },
  { document: "api/v1", kinds: ["io.k8s.api.authentication.v1.TokenRequest", "io.k8s.api.policy.v1.Eviction"] },
  {
    document: "api/v1",
    kinds: ["Status", "DeleteOptions"].map((kind) => `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`),
  },
  { document: "apis/events.k8s.io/v1", kinds: ["io.k8s.api.events.v1.Event"] },
  { document: "apis/coordination.k8s.io/v1", kinds: ["io.k8s.api.coordination.v1.Lease"] },
  { document: "apis/node.k8s.io/v1", kinds: ["io.k8s.api.node.v1.RuntimeClass"] },
  {
    document: "apis/storage.k8s.io/v1",
    kinds: ["CSINode", "CSIDriver", "VolumeAttachment", "StorageClass"].map((kind) => `io.k8s.api.storage.v1.${kind}`),
  },
  { document: "apis/certificates.k8s.io/v1", kinds: ["io.k8s.api.certificates.v1.CertificateSigningRequest"] },
  ...["v1", "v1beta1"].map((version) => ({
    document: `apis/certificates.k8s.io/${version}`,
    kinds: ["ClusterTrustBundle", "PodCertificateRequest"].map((kind) => `io.k8s.api.certificates.${version}.${kind}`),
    optional: true,
  })),
  { document: "apis/authentication.k8s.io/v1", kinds: ["io.k8s.api.authentication.v1.TokenReview"] },
  { document: "apis/authorization.k8s.io/v1", kinds: ["io.k8s.api.authorization.v1.SubjectAccessReview"] },
  {
    document: "apis/resource.k8s.io/v1",
    kinds: ["ResourceClaim", "ResourceSlice"].map((kind) => `io.k8s.api.resource.v1.${kind}`),
  },
];

interface OpenApiServer {
  readonly url: string;
  readonly caFile: string;
  readonly adminCertFile: string;
  readonly adminKeyFile: string;
}

/** The harness is in a later layer, so it is loaded by URL; this is the part of its interface that is used here. */
interface Harness {
  startCluster(options: { readonly controlPlane: "api"; readonly nodes: readonly never[] }): Promise<{
    readonly api: OpenApiServer;
    down(): Promise<void>;
  }>;
}

export const apiTypes: Generator = { name: "api-types", output: "src/api/gen", make: makeFromCluster };

async function makeFromCluster(directory: string): Promise<void> {
  const address = new URL("../../test/cluster/cluster.ts", import.meta.url).href;
  const harness = (await import(address)) as Harness;
  const cluster = await harness.startCluster({ controlPlane: "api", nodes: [] });
  try {
    await makeFrom(cluster.api, directory);
  } finally {
    await cluster.down();
  }
}

async function makeFrom(server: OpenApiServer, directory: string): Promise<void> {
  const fetchJson = await jsonFetcher(server);
  const index = (await fetchJson("/openapi/v3")) as {
    readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string } | undefined>>;
  };
  const schemas = new Map<string, Schema>();
  for (const document of new Set(wanted.map((entry) => entry.document))) {
    const address = index.paths[document]?.serverRelativeURL;
    if (address === undefined) continue;
    const { components } = (await fetchJson(address)) as { readonly components: { readonly schemas: SchemaTable } };
    for (const [name, schema] of Object.entries(components.schemas)) schemas.set(name, schema);
  }
  const missing = wanted.flatMap((entry) => (entry.optional ? [] : entry.kinds.filter((kind) => !schemas.has(kind))));
  if (missing.length > 0) throw new Error(`the server does not serve ${missing.join(", ")}`);

  const roots = wanted.flatMap((entry) => entry.kinds).filter((kind) => schemas.has(kind));
  for (const [file, text] of printModules(collectTypes(roots, schemas))) await writeFile(join(directory, file), text);
  await writeFile(join(directory, "pod-shapes.ts"), printShapes("podShapes", "io.k8s.api.core.v1.Pod", schemas));
}

async function jsonFetcher(server: OpenApiServer): Promise<(path: string) => Promise<unknown>> {
  const [ca, cert, key] = await Promise.all(
    [server.caFile, server.adminCertFile, server.adminKeyFile].map((file) => readFile(file)),
  );
  return (path) =>
    new Promise((resolve, reject) => {
      const options = { ca, cert, key, agent: false, headers: { accept: "application/json" } };
      const request = get(new URL(path, server.url), options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) resolve(JSON.parse(text));
          else reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 200)}`));
        });
      });
      request.on("error", reject);
    });
}
