/**
 * The suites that compare two kubelets must have, for every claimed row, a pod that comes far and a pod that does not.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { NOT_BY_PODS, SHOWN } from "../test/integration/differential-rows.ts";
import { parseLedger } from "./compat/ledger.ts";
import { inRepository } from "./repository.ts";

/**
 * The rows about a pod's lifecycle: admission, workers, containers, resize, status, probes, security; and their files.
 */
const CLAIMED = /^(?:[5678]|11|12|25)\.|^24\.10$|^27\.1\.(?:15|27|32)$|^27\.2\.4$/;

const ledger = parseLedger(readFileSync(inRepository("compat/ledger.yaml"), "utf8"));
const claimed = ledger.rows.filter(
  ({ id, standing }) => CLAIMED.test(id) && (standing.kind === "done" || standing.kind === "partial"),
);
const rows = new Set([...claimed.map(({ id }) => id), ...SHOWN.flatMap((one) => one.rows)]);
const shows = (row: string, comes: "far" | "short") =>
  SHOWN.some((one) => one.comes === comes && one.rows.includes(row));

test("every claimed row has a pod that comes far and one that does not, or NOT_BY_PODS excuses it", () => {
  const lacking = [...rows].flatMap((row) => {
    const lacks = (["far", "short"] as const).filter((comes) => !shows(row, comes));
    const known = NOT_BY_PODS[row]?.lacks;
    const isKnown = lacks.every((one) => known === "both" || known === one);
    return isKnown ? [] : [`${row}: none that comes ${lacks.join(" or ")}`];
  });
  assert.deepEqual(lacking, []);
});

test("NOT_BY_PODS excuses only claimed rows that no pod shows", () => {
  const needless = Object.entries(NOT_BY_PODS).filter(([row, { lacks }]) => {
    const kinds = lacks === "both" ? (["far", "short"] as const) : [lacks];
    return !rows.has(row) || kinds.some((comes) => shows(row, comes));
  });
  assert.deepEqual(
    needless.map(([row]) => row),
    [],
  );
});

test("at least 200 pods are compared, and each belongs to a row of the ledger", () => {
  assert.ok(SHOWN.length >= 200, `${SHOWN.length} pods`);
  const known = new Set(ledger.rows.map(({ id }) => id));
  for (const { name, rows: own } of SHOWN) assert.ok(own.length > 0 && own.every((row) => known.has(row)), name);
});
