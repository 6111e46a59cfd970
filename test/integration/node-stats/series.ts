/** The stats of a node at three endpoints, as values under names that are the same for every node. */

import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { readExposition } from "../../support/exposition.ts";
import { STATIC_POD } from "./workload.ts";

export interface Reported {
  readonly value: number | string;
  /** When the value was read, if the endpoint reports that. */
  readonly atMs: number | undefined;
  readonly isCounter: boolean;
}

export type Series = ReadonlyMap<string, Reported>;

/** Replaces a node's own IDs and names with placeholders, so that the text could be any node's. */
export type Normal = (text: string) => string;

export async function normalOf(cluster: Cluster, node: ClusterNode, namespace: string): Promise<Normal> {
  const { items } = JSON.parse(await cluster.kubectl("-n", namespace, "get", "pods", "-o", "json")) as PodList;
  const names = items.flatMap(({ metadata, status }) => [
    [metadata.annotations?.["kubernetes.io/config.hash"] ?? metadata.uid, metadata.name] as const,
    ...status.containerStatuses.map(({ name, containerID }) => [containerID.replace(/^.*:\/\//, ""), name] as const),
  ]);
  return (text) => {
    let normal = text;
    for (const [id, name] of names) normal = normal.replaceAll(id, name);
    return normal
      .replaceAll(/\b[0-9a-f]{64}\b/g, "sandbox")
      .replaceAll(`${STATIC_POD}-${node.name}`, STATIC_POD)
      .replaceAll(node.cgroupParent, "")
      .replaceAll(`"${node.name}"`, '"node"')
      .replaceAll(namespace, "stats")
      .replaceAll(/kube-api-access-\w+/g, "kube-api-access");
  };
}

interface PodList {
  readonly items: readonly {
    readonly metadata: {
      readonly name: string;
      readonly uid: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly status: { readonly containerStatuses: readonly { readonly name: string; readonly containerID: string }[] };
  }[];
}

export function metricSeries(text: string): Series {
  const series = new Map<string, Reported>();
  for (const { name, kind, help, samples } of readExposition(text).values()) {
    series.set(`# ${name}`, { value: `${kind} ${help}`, atMs: undefined, isCounter: false });
    for (const { labels, value, atText } of samples) {
      const reported = Object.keys(labels)
        .sort()
        .map((label) => `${label}=${labels[label]}`);
      const atMs = atText === undefined ? undefined : Number(atText);
      series.set(`${name}{${reported.join(",")}}`, { value, atMs, isCounter: kind === "counter" });
    }
  }
  return series;
}

const COUNTERS = /\.(?:usageCoreNanoSeconds|pageFaults|majorPageFaults|[rt]x(?:Bytes|Errors)|total)$/;

/** Every leaf of a summary by its path. Items of lists go by their names. */
export function summarySeries(text: string): Series {
  const series = new Map<string, Reported>();
  const add = (path: string, value: unknown, atMs: number | undefined): void => {
    if (Array.isArray(value)) {
      for (const each of value as readonly Named[]) add(`${path}[${each.name ?? each.podRef?.name}]`, each, atMs);
    } else if (typeof value === "object" && value !== null) {
      const { time } = value as { readonly time?: string };
      const read = time === undefined ? atMs : Date.parse(time);
      for (const [key, part] of Object.entries(value)) add(`${path}.${key}`, part, read);
    } else {
      series.set(path, { value: value as number | string, atMs, isCounter: COUNTERS.test(path) });
    }
  };
  add("", JSON.parse(text), undefined);
  return series;
}

/** Match the network interface of a series, and whether the series is of the machine's own interfaces. */
const INTERFACE = /\.network\.interfaces\[(?<inSummary>[^\]]+)\]|\{.*\binterface=(?<inMetrics>[^,}]+)/;
const MACHINES = /^\.node\.|\bid=\/[,}]/;

/**
 * Leaves out interfaces of the machine that were created or removed meanwhile: an agent that reads less often reports
 * them later.
 */
export function withoutPassing(series: Series, lasting: ReadonlySet<string>): Series {
  const interfaceOf = (key: string) => {
    const { inSummary, inMetrics } = INTERFACE.exec(key)?.groups ?? {};
    return inSummary ?? inMetrics ?? "";
  };
  const machines = [...series.keys()].filter((key) => MACHINES.test(key)).map(interfaceOf);
  const passing = new Set(machines.filter((name) => name !== "" && !lasting.has(name)));
  return new Map([...series].filter(([key]) => !passing.has(interfaceOf(key))));
}

interface Named {
  readonly name?: string;
  readonly podRef?: { readonly name: string };
}
