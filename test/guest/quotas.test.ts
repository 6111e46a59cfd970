/**
 * Project quotas of emptyDir volumes, on XFS in a guest: the host's kernel may have no quotas. The whole agent measures
 * with them, and evicts for what a walk cannot find.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { podDirectory } from "../../src/domain/pod/pod-names.ts";
import type { Summary } from "../../src/domain/stats/summary-shape.ts";
import { volumeDirectory } from "../../src/domain/volumes/layout.ts";
import { buildBundle } from "../../tools/build/bundle.ts";
import { scratch } from "../../tools/scratch.ts";
import { startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { ClusterPods, podOn, STAY, sh } from "../support/cluster-pods.ts";
import { deckhandPayloads, launchAgent } from "../support/guest-agents.ts";
import { GUEST_NODE, makeNode, NODE_FLAGS } from "../support/guest-node.ts";
import type { Guest } from "./guest.ts";
import { resumeGuest } from "./guests.ts";

const MIB = 2 ** 20;
const ROOT = "/var/lib/kubelet";
const CONTRACT = "/opt/quotas.mjs";
const LIMIT_MS = 10 * 60_000;
const [FIRST_MIB, LIMIT_MIB] = [8, 48];

const CONFIGURED = `featureGates:
  LocalStorageCapacityIsolationFSQuotaMonitoring: true
volumeStatsAggPeriod: 1s
readOnlyPort: 10255
`;

const MAKE_XFS = `modprobe -a loop xfs
truncate -s 400M /srv/quotas.img
mkfs.xfs -q /srv/quotas.img
mkdir -p ${ROOT}
mount -o loop,prjquota /srv/quotas.img ${ROOT}`;

/** Writes into a file without a name, and more of it as soon as the volume has the file `go`. */
const WRITER = `exec 3>/data/hidden; rm /data/hidden
dd if=/dev/zero bs=1M count=${FIRST_MIB} >&3
(until [ -e /data/go ]; do sleep 1; done; dd if=/dev/zero bs=1M count=${LIMIT_MIB} >&3) & ${STAY}`;

const writerPod = (name: string, hostUsers: boolean): Pod =>
  podOn(GUEST_NODE, name, {
    hostUsers,
    containers: [{ ...sh(WRITER), volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [{ name: "data", emptyDir: { sizeLimit: `${LIMIT_MIB}Mi` } }],
  });

suite("project quotas on XFS in a guest", () => {
  const directory = scratch();
  const started = new AsyncDisposableStack();
  const beganMs = performance.now();
  let guest: Guest;
  let pods: ClusterPods;

  before(async () => {
    started.use(directory);
    const bundle = directory.path("quotas.mjs");
    await buildBundle(bundle, "test/support/quotas-program.ts");
    const cluster = await startCluster({ controlPlane: "api", nodes: [] });
    started.defer(() => cluster.down());
    // No controller creates it here.
    const makeAccount = () => cluster.kubectl("create", "serviceaccount", "default").catch(() => "");
    await waitUntil("the default service account", LIMIT_MS, async () => (await makeAccount()) !== "");
    pods = started.adopt(await ClusterPods.of(cluster), (each) => each.close());
    guest = started.use(await resumeGuest());
    await guest.must(MAKE_XFS);
    await makeNode(guest, cluster, CONFIGURED);
    await guest.put({ ...(await deckhandPayloads()), [CONTRACT]: { from: bundle } });
  });

  after(() => started.disposeAsync());

  const pathOf = (pod: Pod) => volumeDirectory(podDirectory(ROOT, pod.metadata?.uid ?? ""), "empty-dir", "data");
  /** The projects of pods' volumes, by directory. */
  const projects = async () => {
    const lines = (await guest.must("cat /etc/projects")).split("\n").filter((line) => line.includes(`${ROOT}/pods/`));
    return Object.fromEntries(lines.map((line) => [line.slice(line.indexOf(":") + 1), Number.parseInt(line, 10)]));
  };
  const usedMib = async (name: string) => {
    const { pods: found } = JSON.parse(await guest.must("curl -fsS http://127.0.0.1:10255/stats/summary")) as Summary;
    const volumes = found.find(({ podRef }) => podRef.name === name)?.volume;
    return (volumes?.find((volume) => volume.name === "data")?.usedBytes ?? 0) / MIB;
  };

  test("[21.9] xfs_quota keeps the contract of the Quotas port", async () => {
    const { code, stdout } = await guest.run(`/opt/deckhand/node ${CONTRACT} /opt/deckhand/deckhand.js ${ROOT} /srv`, {
      limitMs: LIMIT_MS,
    });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /pass 6\b/);
    figure("until the contract is kept", Math.round((performance.now() - beganMs) / 1000), "s");
  });

  test("[21.9] [17.7] an open file without a name counts, also after the agent was killed, and evicts its pod", async () => {
    await launchAgent(guest, "deckhand", NODE_FLAGS);
    await pods.create(writerPod("counted", false));
    await pods.create(writerPod("walked", true));
    const [counted, walked] = [await pods.running("counted", LIMIT_MS), await pods.running("walked", LIMIT_MS)];
    await waitUntil("the written bytes to count", LIMIT_MS, async () => (await usedMib("counted")) >= FIRST_MIB).catch(
      async (error: unknown) => {
        const look = "cat /etc/projects; df -k /var/lib/kubelet; journalctl -u agent --no-pager | tail -n 60";
        throw new Error((await guest.run(look)).stdout, { cause: error });
      },
    );
    assert.ok((await usedMib("counted")) < LIMIT_MIB, "the limit is not reached");
    assert.ok((await usedMib("walked")) < 1, "a walk does not find the file");
    const before = await projects();
    assert.deepEqual(Object.keys(before), [pathOf(counted)]);

    await guest.must("systemctl kill --signal KILL agent; while systemctl is-active --quiet agent; do sleep 0.2; done");
    await launchAgent(guest, "deckhand", NODE_FLAGS);
    await waitUntil("the same bytes to count again", LIMIT_MS, async () => (await usedMib("counted")) >= FIRST_MIB);
    assert.deepEqual(await projects(), before);

    await guest.must(`touch ${pathOf(counted)}/go ${pathOf(walked)}/go`);
    const isEvicted = ({ status }: Pod) => status?.reason === "Evicted";
    const { status } = await pods.first("counted", "was evicted", isEvicted, LIMIT_MS);
    assert.equal(status?.message, `Usage of EmptyDir volume "data" exceeds the limit "${LIMIT_MIB}Mi". `);
    assert.equal(pods.versions("walked").at(-1)?.pod.status?.phase, "Running");

    await pods.delete("counted");
    await pods.gone("counted", LIMIT_MS);
    await waitUntil("the project to be released", LIMIT_MS, async () => Object.keys(await projects()).length === 0);
    // The kernel frees removed files a moment later.
    const report = () => guest.must(`xfs_quota -x -c 'report -p -n -N' ${ROOT}`);
    await waitUntil("no project to have files", LIMIT_MS, async () => !/^#10485/m.test(await report()));
    figure("quotas in a guest, all of it", Math.round((performance.now() - beganMs) / 1000), "s");
  });
});
