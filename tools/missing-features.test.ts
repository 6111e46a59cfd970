/** Checks that no page calls a feature missing whose rows of the ledger are done. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { parseLedger } from "./compat/ledger.ts";
import { documents } from "./documents.ts";
import { inRepository } from "./repository.ts";

const MISSING = /\b(?:not (?:yet )?(?:implemented|built)|unimplemented|planned)\b|尚未实现|未实现/i;

/** What pages call missing, and the rows that describe it. No rows: the Go kubelet does not have it either. */
const FEATURES: readonly (readonly [named: RegExp, rows: readonly string[]])[] = [
  [/evict|驱逐/i, ["17.4", "17.5", "17.6"]],
  [/image garbage collection|镜像垃圾收集/i, ["9.10", "9.11"]],
  [/credential plugins|凭据插件/i, ["9.7"]],
  [/node shutdown|shutdownManager|体面关闭/i, ["18.1", "18.2"]],
  [/device|extended resources|设备/i, ["16.1", "16.3"]],
  [/DRA\b|draManager/, ["16.6"]],
  [/\bCPU\b/, ["15.1", "15.4", "15.5"]],
  [/\bCSI\b/, ["13.20", "13.21"]],
  [/network storage|网络存储/i, ["13.16"]],
  [/metadata in the response/, []],
  [/root core/, []],
  // The sentence that explains the words.
  [/is literal|字面意思/, []],
];

const GENERATED = /^docs\/(?:compatibility|configuration|conformance|node-tests|proofs)/;
const pages = documents.filter((path) => !GENERATED.test(path) && path !== "CHANGELOG.md");

const { rows } = parseLedger(readFileSync(inRepository("compat/ledger.yaml"), "utf8"));
const isDone = new Map(rows.map(({ id, standing }) => [id, standing.kind === "done" || standing.kind === "wont"]));

/** The problem with a line that calls something missing, or undefined. */
function problemOf(line: string, done: ReadonlyMap<string, boolean>): string | undefined {
  const features = FEATURES.filter(([named]) => named.test(line));
  if (features.length === 0) return `no feature is known that this line calls missing: ${line}`;
  const built = features.find(([, ids]) => ids.length > 0 && ids.every((id) => done.get(id) === true));
  return built === undefined ? undefined : `rows ${built[1].join(", ")} are done: ${line}`;
}

describe("features that pages call missing", () => {
  test("every row that stands for a missing feature is in the ledger", () => {
    assert.deepEqual(
      FEATURES.flatMap(([, ids]) => ids).filter((id) => !isDone.has(id)),
      [],
    );
  });

  test("no page calls a feature missing whose rows are done", () => {
    const lines = pages.flatMap((path) => readFileSync(inRepository(path), "utf8").split("\n"));
    const claims = lines.filter((line) => MISSING.test(line));
    assert.ok(claims.length >= 10, `${claims.length} lines`);
    assert.deepEqual(
      claims.flatMap((line) => problemOf(line, isDone) ?? []),
      [],
    );
  });

  test("a line about a feature that is done, or about an unknown one, is a problem", () => {
    const done = new Map([...isDone].map(([id, was]) => [id, was || id.startsWith("18.")]));
    const line = "Graceful node shutdown is not implemented yet.";
    assert.equal(problemOf(line, done), `rows 18.1, 18.2 are done: ${line}`);
    assert.equal(problemOf(line, isDone), undefined);
    assert.match(problemOf("Teleportation is planned.", isDone) ?? "", /^no feature is known/);
  });
});
