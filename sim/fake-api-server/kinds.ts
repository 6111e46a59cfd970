/** The kinds of the fake API server, and how they differ. */
import * as known from "../../src/api/resources.ts";
import { isJsonObject } from "../../src/base/json-equal.ts";
import type { ApiObject, Resource } from "../../src/ports/api-server.ts";
import { notFound } from "./refusal.ts";
import type { Stored } from "./stored.ts";

export interface Kind {
  readonly resource: Resource<ApiObject>;
  readonly key: string;
  readonly subresources: readonly string[];
  /** Whether the server increments metadata.generation when the spec changes. */
  readonly countsGenerations: boolean;
  /** Whether the server keeps a status that is sent with a new object. */
  readonly keepsFirstStatus: boolean;
  /** Fields, besides name and namespace, that field selectors support. */
  readonly fields: readonly string[];
}

const keyOfKind = ({ group, plural }: Resource<ApiObject>) => `${group}/${plural}`;

const WITH_STATUS = ["/nodes", "/namespaces", "/services", "/persistentvolumes", "/persistentvolumeclaims"];
const MORE_WITH_STATUS = [
  "policy/poddisruptionbudgets",
  "certificates.k8s.io/certificatesigningrequests",
  "resource.k8s.io/resourceclaims",
  "storage.k8s.io/volumeattachments",
];
const SUBRESOURCES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["/pods", ["status", "resize", "ephemeralcontainers"]],
  ...[...WITH_STATUS, ...MORE_WITH_STATUS].map((key) => [key, ["status"]] as const),
]);
const FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "/pods",
    [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "status.phase",
      "status.podIP",
      "status.nominatedNodeName",
    ],
  ],
  ["/nodes", ["spec.unschedulable"]],
  ["/secrets", ["type"]],
  [
    "/events",
    ["involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "involvedObject.uid", "reason"],
  ],
  ["certificates.k8s.io/certificatesigningrequests", ["spec.signerName"]],
  ["resource.k8s.io/resourceslices", ["spec.nodeName", "spec.driver"]],
]);

const podDisruptionBudgets: Resource<ApiObject> = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
};

const KINDS: ReadonlyMap<string, Kind> = new Map(
  [...Object.values<Resource<ApiObject>>(known), podDisruptionBudgets].map((resource) => {
    const key = keyOfKind(resource);
    return [
      key,
      {
        resource,
        key,
        subresources: SUBRESOURCES.get(key) ?? [],
        countsGenerations: key === "/pods" || key === "policy/poddisruptionbudgets",
        // A Node is created with its status.
        keepsFirstStatus: key === "/nodes",
        fields: FIELDS.get(key) ?? [],
      },
    ];
  }),
);

export function kindOf(resource: Resource<ApiObject>): Kind {
  const kind = KINDS.get(keyOfKind(resource));
  if (kind === undefined) throw notFound(`the server has no ${resource.plural}:`);
  return kind;
}

/** The value at a path such as "spec.nodeName"; empty when absent, as field selectors treat it. */
export function fieldAt(object: Stored, path: string): string {
  let value: unknown = object;
  for (const part of path.split(".")) value = isJsonObject(value) ? value[part] : undefined;
  return typeof value === "string" || typeof value === "boolean" ? String(value) : "";
}
