/**
 * Compares Deckhand with the Go kubelet on ordinary pods: volumes of every kind, environment, names and resolvers,
 * images with and without credentials, and common failures of each. Statuses, events, what a container sees, the node's
 * files and mounts and the requests to the runtime must be the same, and nothing may be left behind.
 */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import type { Server } from "node:net";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { selected } from "../golden/selected-cases.ts";
import { deckhandTest, NODES, SIDES } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type Case, type World, worldOf } from "./ordinary-differential/case.ts";
import { CLAIM_CASES } from "./ordinary-differential/cases/claims.ts";
import {
  ENVIRONMENT_CASES,
  WITHOUT_CLUSTER_DNS,
  WITHOUT_RESOLVER_FILE,
} from "./ordinary-differential/cases/environment.ts";
import { FILE_CASES, LIVE_CASES, PATIENT_CASES } from "./ordinary-differential/cases/files.ts";
import { IMAGE_CASES, OVER_THE_LIMIT } from "./ordinary-differential/cases/images.ts";
import { VOLUME_CASES } from "./ordinary-differential/cases/volumes.ts";
import { rewriteOfGo, unneededDifferences } from "./ordinary-differential/differences.ts";
import { makeObjects, prepareNodes } from "./ordinary-differential/objects.ts";
import { CaseRuns } from "./ordinary-differential/run.ts";

const CASES: readonly Case[] = [
  ...LIVE_CASES,
  ...VOLUME_CASES,
  ...CLAIM_CASES,
  ...FILE_CASES,
  ...ENVIRONMENT_CASES,
  ...IMAGE_CASES,
];
const LATER_CASES: readonly Case[] = [...WITHOUT_CLUSTER_DNS, ...OVER_THE_LIMIT, ...WITHOUT_RESOLVER_FILE];
const ALL_CASES = [...PATIENT_CASES, ...CASES, ...LATER_CASES];

/** Both agents pull images serially; the pull rate limit is higher than the default. */
const AT_FIRST = { configuration: { serializeImagePulls: true, registryPullQPS: 100, registryBurst: 100 } };
const LATER = {
  configuration: { serializeImagePulls: false, registryPullQPS: 1, registryBurst: 1, clusterDNS: [] },
};

/** More name servers, search domains and characters than a resolver supports. */
const LONG_RESOLVER_FILE = [
  ...[1, 2, 3, 4].map((index) => `nameserver 192.0.2.${index}`),
  `search ${Array.from({ length: 34 }, (_, index) => `domain-${index}.test.`).join(" ")}`,
  "options ndots:3 rotate",
  "",
].join("\n");

let both: BothAgents;
let world: World;
let sockets: readonly Server[] = [];
const recording = Recording.open("ordinary-differential", { rewrite: rewriteOfGo });
const runs = new CaseRuns(recording);

before(async () => {
  both = await BothAgents.start(AT_FIRST);
  const { cluster } = both;
  world = worldOf(both);
  sockets = await prepareNodes(world);
  await makeObjects(world);
  await Promise.all([runs.run(world, PATIENT_CASES), runs.run(world, CASES)]);

  if (selected(LATER_CASES).length === 0) return;
  await Promise.all(SIDES.map((side) => cluster.changeAgent(NODES[side], side, LATER)));
  const files = SIDES.map((side) => join(both.node(side).directory, "resolv.conf"));
  for (const file of files) await writeFile(file, LONG_RESOLVER_FILE);
  await runs.run(world, [...WITHOUT_CLUSTER_DNS, ...OVER_THE_LIMIT]);
  for (const file of files) await rm(file);
  await runs.run(world, WITHOUT_RESOLVER_FILE);
});

after(async () => {
  for (const server of sockets) server.close();
  await both.end();
});

const alike = (row: string) => runs.alike(row);

void suite("ordinary pods under both agents", () => {
  test("[9.1][9.2] imagePullPolicy decides whether an image is pulled, with the Go kubelet's events", async () => {
    for (const row of ["9.1", "9.2"]) await alike(row);
  });

  test("[9.3] a failed pull backs off and keeps reporting the cause", async () => {
    await alike("9.3");
  });

  test("[9.4] serializeImagePulls pulls one image at a time, and no pull exceeds the rate limit", async () => {
    for (const side of SIDES) {
      const pulls = (world.node(side).criProxy?.calls ?? []).filter(({ method }) => method === "PullImage");
      const serial = pulls.filter(({ request }) => !JSON.stringify(imageOf(request)).match(/served-2[12]:/));
      assert.ok(serial.length > 10, `${side} pulled ${serial.length} times`);
      for (const [index, call] of serial.entries()) {
        const next = serial[index + 1];
        assert.ok(next === undefined || next.startedWallMs >= (call.endedWallMs ?? Infinity), `${side}: pull ${index}`);
      }
    }
    await alike("9.4");
  });

  test("[9.5][9.6] pull secrets and the node's credential files are tried, each for its own images", async () => {
    for (const row of ["9.5", "9.6"]) await alike(row);
  });

  test("[9.12] an image is mounted as a volume, or the pod reports why it is not", async () => {
    await alike("9.12");
  });

  test("[13.1] containers start once every volume is mounted, and until then events name what is missing", async () => {
    await alike("13.1");
  });

  test("[13.4][13.5][27.1.12] emptyDir volumes on disk and in memory have the same modes, sizes and ready files", async () => {
    for (const row of ["13.4", "13.5", "27.1.12"]) await alike(row);
  });

  test("[13.6] hostPath types are checked, missing paths are created if the type allows it, and ownership is unchanged", async () => {
    await alike("13.6");
  });

  test("[13.7][27.1.9][27.1.11] ConfigMap and Secret volumes have the same files and the same layout", async () => {
    for (const row of ["13.7", "27.1.9", "27.1.11"]) await alike(row);
  });

  test("[13.8] edits of ConfigMaps, Secrets and labels reach the volumes and nothing else", async () => {
    await alike("13.8");
  });

  test("[13.9][13.10] downwardAPI and projected volumes have the same files", async () => {
    for (const row of ["13.9", "13.10"]) await alike(row);
  });

  test("[13.11] service account tokens have the same claims and are readable by the same users", async () => {
    await alike("13.11");
  });

  test("[13.13] fsGroup gives access to the same files in the same way", async () => {
    await alike("13.13");
  });

  test("[13.14][27.1.16] subPaths are mounted from the same source, and none from outside the volume", async () => {
    for (const row of ["13.14", "27.1.16"]) await alike(row);
  });

  test("[13.15] read-only, recursive read-only and propagation of mounts are the same", async () => {
    await alike("13.15");
  });

  test("[13.16][13.30] claims resolve to the same volumes, and unusable claims report the Go kubelet's message", async () => {
    for (const row of ["13.16", "13.30"]) await alike(row);
  });

  test("[24.1][24.2][24.3] resolv.conf has the same servers, search domains and options, truncated in the same way", async () => {
    for (const row of ["24.1", "24.2", "24.3"]) await alike(row);
  });

  test("[7.27][24.4][27.1.14] host names and /etc/hosts are the same, byte for byte", async () => {
    for (const row of ["7.27", "24.4", "27.1.14"]) await alike(row);
  });

  test("[24.5] /etc/resolv.conf is the same, byte for byte", async () => {
    await alike("24.5");
  });

  test("[24.6] service environment variables are the same", async () => {
    await alike("24.6");
  });

  test("[24.7][7.21] environment and commands expand the same, and missing references report the Go kubelet's message", async () => {
    for (const row of ["24.7", "7.21"]) await alike(row);
  });

  test("[24.8][24.9] fieldRef and resourceFieldRef give the same variables", async () => {
    for (const row of ["24.8", "24.9"]) await alike(row);
  });

  deckhandTest("every intended difference is needed, and every case belongs to a row", () => {
    assert.deepEqual(
      unneededDifferences(recording.suite, runs.needed).map(({ why }) => why),
      [],
    );
    assert.ok(ALL_CASES.every(({ rows }) => rows.length > 0));
    assert.equal(new Set(ALL_CASES.map(({ name }) => name)).size, ALL_CASES.length);
    figure("pods compared", ALL_CASES.length, "pods");
    figure("fields compared", recording.compared, "fields");
  });
});

const imageOf = (request: unknown) => (request as { readonly image?: unknown }).image ?? "";
