/** Compares the table of metric families (compat/metrics.yaml) with a kubelet's registries and with the ledger. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Family } from "../src/base/metrics/family.ts";
import { type FamilyShape, Registry } from "../src/base/metrics/registry.ts";
import { NO_CERTIFICATE } from "../src/domain/identity/certificate-state.ts";
import { healthMetrics } from "../src/domain/metrics/health-metrics.ts";
import { clientCertificateFamilies, servingCertificateFamilies } from "../src/domain/metrics/identity-metrics.ts";
import { probeMetrics } from "../src/domain/metrics/probe-metrics.ts";
import { processFamilies } from "../src/domain/metrics/process-families.ts";
import { ledgerStates, metricsTable } from "../test/support/metrics-table.ts";
import { FakeOwnProcess } from "./fake-own-process.ts";
import { keptKubelet } from "./kubelet.ts";
import { World } from "./world.ts";

const table = metricsTable();

function kubeletShapes(): readonly FamilyShape[] {
  const world = new World({ seed: 1 });
  const node = world.addNode("n1");
  const { agent, newest } = keptKubelet();
  node.start(agent);
  return newest().metrics.registry.shapes();
}

const shapesOf = (fill: (registry: Registry) => void): readonly FamilyShape[] => {
  const registry = new Registry();
  fill(registry);
  return registry.shapes();
};

const withoutLabels = ({ name, kind }: Family): FamilyShape => ({ name, kind, labels: [] });

/** The Go kubelet has no metrics to compare these with. */
const isOwn = ({ name }: FamilyShape) => /^(deckhand|nodejs)_/.test(name);

const reported = ({ name, kind, labels }: FamilyShape): string => `${kind} ${name}{${[...labels].toSorted().join()}}`;

test("[21.6] exposes exactly the table's metric families, with their kinds and labels", async () => {
  const stats = await new FakeOwnProcess({ wallMs: () => 0, monotonicMs: () => 0 }).facts();
  const own: Readonly<Record<string, readonly FamilyShape[]>> = {
    kubelet: kubeletShapes(),
    health: shapesOf(healthMetrics),
    probes: shapesOf(probeMetrics),
    identity: [...clientCertificateFamilies(NO_CERTIFICATE, 0), ...servingCertificateFamilies(NO_CERTIFICATE, 0)].map(
      withoutLabels,
    ),
    process: processFamilies(stats).map(withoutLabels),
  };
  for (const [by, shapes] of Object.entries(own)) {
    const listed = table.families.filter((family) => (family.by ?? "kubelet") === by);
    const others = shapes.filter((shape) => !isOwn(shape));
    assert.deepEqual(others.map(reported).toSorted(), listed.map(reported).toSorted(), by);
  }
});

test("a waiting family names a ledger row that is not done, and each family is in one list only", () => {
  const states = ledgerStates();
  for (const { name, row } of table.waiting) {
    assert.ok(states.has(row), `${row} is a row of the ledger`);
    assert.notEqual(states.get(row), "done", `${name} waits for ${row}, which is done`);
  }
  for (const { name, rows } of table.families)
    for (const row of rows) assert.ok(states.has(row), `${name} names ${row}, a row of the ledger`);
  const names = [...table.families, ...table.waiting].map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  const both = names.filter((name) => table.leftOut.some(({ match }) => new RegExp(match).test(name)));
  assert.deepEqual(both, []);
});
