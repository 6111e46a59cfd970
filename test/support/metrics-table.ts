/** Reads `compat/metrics.yaml`: which metric families exist, which wait for a feature, and which are left out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export interface ListedFamily {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly rows: readonly string[];
  /** The component that exposes the family; the kubelet's registry unless set. */
  readonly by?: "identity" | "stats" | "process" | "health" | "probes";
}

export interface MetricsTable {
  readonly families: readonly ListedFamily[];
  readonly waiting: readonly { readonly name: string; readonly row: string }[];
  readonly leftOut: readonly { readonly match: string; readonly why: string }[];
}

const compat = (file: string): unknown =>
  parse(readFileSync(join(import.meta.dirname, "..", "..", "compat", file), "utf8"));

export const metricsTable = (): MetricsTable => compat("metrics.yaml") as MetricsTable;

/** States of the ledger's rows, by id. */
export function ledgerStates(): ReadonlyMap<string, string> {
  const { rows } = compat("ledger.yaml") as {
    readonly rows: readonly { readonly id: string; readonly state: string }[];
  };
  return new Map(rows.map(({ id, state }) => [id, state]));
}
