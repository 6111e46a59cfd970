/**
 * `deckhand doctor` on hosts as users have them: on a sound host it finds nothing; then the same host is broken for
 * real in one way after the other. The complete answer is compared each time, so that a host that was not repaired
 * shows in the next answer, and in the last.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FINDINGS, type Finding, type FindingName } from "../../src/domain/doctor/finding.ts";
import { scratch } from "../../tools/scratch.ts";
import { startCluster } from "../cluster/cluster.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { BROKEN_HOSTS, type BrokenHost, EXTRA_ARGS, SPARE } from "../support/broken-hosts.ts";
import { COMPILED, DECKHAND_PROGRAM, deckhandPayloads } from "../support/guest-agents.ts";
import { makeNode, NODE_FLAGS, pairFiles, readPair, selfSigned } from "../support/guest-node.ts";
import type { Guest } from "./guest.ts";
import { resumeGuest } from "./guests.ts";

const YEAR_DAYS = 365;
/**
 * Hosts that need a guest: systemd, swap and kernel settings. Most of the other hosts are also broken in
 * `test/integration/doctor.test.ts`.
 */
const IN_CI: readonly string[] = [
  "the runtime is down",
  "swap is on",
  "packets are not passed on",
  "a kubelet of another make runs",
];
const LIMIT_MS = 3 * 60_000;
/** The exit codes of failed scripts, which differ from those of doctor. */
const [NOT_BROKEN, NOT_REPAIRED] = [90, 91];

/** A kubeconfig with credentials, whose server does not exist. */
const NOBODY = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "u", user: { token: "abcdef.0123456789abcdef" } }],
  contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  "current-context": "c",
};

const DOCTOR = `${COMPILED} ${DECKHAND_PROGRAM} doctor -o json ${NODE_FLAGS.join(" ")} $KUBELET_EXTRA_ARGS`;

describe("doctor in a guest", () => {
  const directory = scratch();
  const beganMs = performance.now();
  const started = new AsyncDisposableStack();
  let guest: Guest;

  before(async () => {
    started.use(directory);
    const cluster = await startCluster({ controlPlane: "api", nodes: [] });
    started.defer(() => cluster.down());
    guest = await resumeGuest();
    started.defer(() => guest.close());
    await makeNode(guest, cluster);
    const pairs = {
      expired: selfSigned(-2 * YEAR_DAYS),
      future: selfSigned(2),
      other: selfSigned(0),
      somebody: await readPair(await cluster.api.clientCertificate("somebody", [])),
      admin: await readPair({ certFile: cluster.api.adminCertFile, keyFile: cluster.api.adminKeyFile }),
    };
    const spare = Object.entries(pairs).flatMap(([name, pair]) =>
      Object.entries(pairFiles({ certFile: `${SPARE}/${name}.crt`, keyFile: `${SPARE}/${name}.key` }, pair)),
    );
    await guest.put({
      ...(await deckhandPayloads()),
      ...Object.fromEntries(spare),
      [`${SPARE}/nobody.conf`]: { content: JSON.stringify(NOBODY) },
      [EXTRA_ARGS]: { content: "" },
    });
    // Fills the compile cache for the next processes.
    await guest.must(`${DOCTOR} || true`, { limitMs: LIMIT_MS });
  });

  after(() => started.disposeAsync());

  async function doctor(
    { breaks, repairs }: Pick<BrokenHost, "breaks" | "repairs"> = { breaks: "true", repairs: "true" },
  ) {
    const { code, stdout, stderr } = await guest.run(
      `(set -e\n${breaks}\n) >&2
      [ $? = 0 ] || exit ${NOT_BROKEN}
      . ${EXTRA_ARGS}
      ${DOCTOR}
      code=$?
      (set -e\n${repairs}\n) >&2
      [ $? = 0 ] || exit ${NOT_REPAIRED}
      exit $code`,
      { limitMs: LIMIT_MS },
    );
    assert.ok(code < NOT_BROKEN, `${code === NOT_BROKEN ? breaks : repairs}\n${stderr}`);
    const reported = JSON.parse(stdout) as { readonly exitCode: number; readonly findings: readonly Finding[] };
    assert.equal(reported.exitCode, code, stderr);
    return { exitCode: code, findings: reported.findings.filter(({ name }) => name !== "feature-not-implemented") };
  }

  const finds = async (names: readonly FindingName[], host?: BrokenHost) => {
    const { exitCode, findings } = await doctor(host);
    const said = JSON.stringify(findings, undefined, 2);
    assert.deepEqual([...new Set(findings.map(({ name }) => name))], names, said);
    const isWorse = (severity: Finding["severity"]) => names.some((name) => FINDINGS[name].severity === severity);
    assert.equal(exitCode, isWorse("error") ? 1 : 0);
    if (host !== undefined) assert.match(findings[0]?.seen ?? "", host.seen);
  };

  test("doctor finds nothing on a sound host but features that are not implemented", () => finds([]));

  const hosts = wholeSize() ? BROKEN_HOSTS : BROKEN_HOSTS.filter(({ is }) => IN_CI.includes(is));

  assert.ok(hosts.length >= IN_CI.length, "a host of the gate is missing");

  for (const host of hosts) {
    test(`${host.is}: ${host.finds.join(", ")}`, async () => {
      await finds(host.finds, host);
      if (wholeSize()) await finds([]);
    });
  }

  test("doctor finds nothing after all repairs", async () => {
    await finds([]);
    figure("broken hosts", hosts.length, "hosts");
    figure("all hosts, with the set-up", Math.round((performance.now() - beganMs) / 1000), "s");
  });
});
