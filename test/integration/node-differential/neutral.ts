/** Replaces names, ids, times and values that depend on the machine in a Node, its Lease and its CSINode. */
import type { ClusterNode } from "../../cluster/cluster.ts";
import type { MachineFacts } from "./machine-facts.ts";

/** One entry per leaf; entries of lists whose items have a type are named by the type. */
function leaves(value: unknown, path = ""): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null) return new Map([[path, value]]);
  return new Map(
    Object.entries(value).flatMap(([key, inner]: readonly [string, unknown]) => {
      const type: unknown = Array.isArray(value) ? (inner as { readonly type?: unknown } | null)?.type : undefined;
      const name = typeof type === "string" ? type : key;
      const below = path === "" ? name : `${path}.${name}`;
      const isAddress = path === "status.addresses";
      return [...leaves(isAddress ? (inner as { readonly address: unknown }).address : inner, below)];
    }),
  );
}

/** Each time must have the precision of its field: whole seconds, or microseconds in a Lease. */
const OWN: readonly (readonly [path: RegExp, form: RegExp, marker: string])[] = [
  [/^metadata\.uid$|^metadata\.ownerReferences\.0\.uid$/, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "<uid>"],
  [/^metadata\.resourceVersion$/, /^\d+$/, "<version>"],
  [/(?:Timestamp|Time)$/, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, "<time>"],
  [/^spec\.renewTime$/, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/, "<precise time>"],
];

/** Hugepage sizes depend on the machine; it has reserved no huge pages. */
const HUGE_PAGES = /\bhugepages-\S+?(?=$|:|\s)/;

export function neutralLeaves(object: unknown, node: ClusterNode, facts: MachineFacts): ReadonlyMap<string, unknown> {
  const neutral = (path: string, value: unknown): unknown => {
    if (typeof value !== "string") return value;
    const [fact, marker] = facts.get(path) ?? [];
    if (marker !== undefined && value === fact) return marker;
    if (value === node.name) return "<node>";
    return OWN.find(([field, form]) => field.test(path) && form.test(value))?.[2] ?? value;
  };
  return new Map(
    [...leaves(object)].map(([path, value]) => [path.replace(HUGE_PAGES, "hugepages-<size>"), neutral(path, value)]),
  );
}

/**
 * The sections of a description that correspond to fields of the status, and the lines whose labels differ from the
 * field names.
 */
const SECTIONS: Readonly<Record<string, string>> = {
  Addresses: "status.addresses",
  Capacity: "status.capacity",
  Allocatable: "status.allocatable",
  "System Info": "status.nodeInfo",
};
const FIELDS: Readonly<Record<string, string>> = {
  "Machine ID": "machineID",
  "System UUID": "systemUUID",
  "Boot ID": "bootID",
  "Kernel Version": "kernelVersion",
  "OS Image": "osImage",
};

/** The lines of `kubectl describe` in neutral form. */
export function neutralDescription(text: string, node: ClusterNode, facts: MachineFacts): readonly string[] {
  let section = "";
  return text.split("\n").map((line) => {
    section = /^([A-Z][^:]*):/.exec(line)?.[1] ?? section;
    const [, start = "", field = "", value = ""] = /^( {2}(\S[^:]*): +)(.*)$/.exec(line) ?? [];
    const [fact, marker = ""] = facts.get(`${SECTIONS[section]}.${FIELDS[field] ?? field}`) ?? [];
    const known = fact !== undefined && value === fact ? `${start}${marker}` : line;
    return known
      .replaceAll(/[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} \+\d{4}/g, "<date>")
      .replaceAll(new RegExp(`\\b${node.name}\\b`, "g"), "<node>")
      .replace(HUGE_PAGES, "hugepages-<size>");
  });
}
