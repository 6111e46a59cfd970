/** `compat/metrics.yaml`: which families of metrics there are, wait, or are left out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export interface ListedFamily {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly rows: readonly string[];
  /** Who shows it; the registry of the kubelet unless said otherwise. */
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

/** Of the rows of the ledger, by id. */
export function ledgerStates(): ReadonlyMap<string, string> {
  const { rows } = compat("ledger.yaml") as {
    readonly rows: readonly { readonly id: string; readonly state: string }[];
  };
  return new Map(rows.map(({ id, state }) => [id, state]));
}
