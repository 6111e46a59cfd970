/**
 * The service as the package installs it, on a node with pods of every kind. It is killed repeatedly, hung until the
 * watchdog kills it, and upgraded, and its machine is rebooted. A watch on the API server, containerd's events, the
 * mounts and a record that each container writes when it starts show whether a pod is disrupted. The machine is
 * rebooted under the Go kubelet first; the pods' reported state afterwards must be the same.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import type { ContainerStatus, Pod } from "../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { seed } from "../size.ts";
import { conditionOf, hasEndedWhole, isRunning } from "../support/cluster-pods.ts";
import { withoutDisruption } from "../support/disruption-check.ts";
import { containersIn } from "../support/guest-inspection.ts";
import { begun, oncePod, prepare, SPECS, STATIC_PODS, startWorkload } from "../support/guest-workload.ts";
import { GuestNode, SLOW_MS } from "../support/joined-guest.ts";

const KILLS = 20;
/**
 * Maximum lifetime of an agent after systemd has started it: kills come from before its first message until well into
 * its work.
 */
const LIFE_SECONDS_MAX = 60;
const SETTLE_MS = 60_000;
const CLOCK_SET_MS = 15_000;
const LATER = "0.0.1";
const MAIN = '"$(systemctl show -p MainPID --value kubelet.service)"';

type Side = "go" | "deckhand";

/** The reported state of a pod after a reboot, without IDs, times and addresses. */
interface AfterReboot {
  readonly phase: string | undefined;
  readonly ready: string | undefined;
  readonly containers: readonly object[];
  /** How often each container started because of the reboot. */
  readonly begun: Readonly<Record<string, number>>;
}

describe("pods keep running whatever happens to the service", () => {
  const random = new SeededRandom(seed());
  const running = [...Object.keys(SPECS), ...STATIC_PODS];
  const seen = new Map<Side, ReadonlyMap<string, AfterReboot>>();
  let node: GuestNode;

  before(async () => {
    node = await GuestNode.start({ mayReboot: true, laterVersions: [LATER] });
    await prepare(node.guest);
    await node.startKubelet();
    await startWorkload(node);
    await reboot("go");
    await install("deckhand_0.0.0_amd64.deb");
    await node.healthy();
  });

  after(() => node.close());

  const install = (file: string) => node.guest.must(`dpkg --install /root/${file}`, { limitMs: SLOW_MS });
  const show = async (property: string) =>
    (await node.guest.must(`systemctl show kubelet.service --value -p ${property}`)).trim();

  const survives = (act: () => Promise<unknown>) => withoutDisruption(node, { pods: [...running, "finished"] }, act);

  /** Runs `act` and waits until systemd has restarted the service and its main process exists. */
  async function restarted(act: string): Promise<void> {
    const before = Number(await show("NRestarts"));
    await node.guest.must(act);
    await node.guest.must(
      `until [ "$(systemctl show -p NRestarts --value kubelet.service)" -gt ${before} ] && [ ${MAIN} != 0 ]; do sleep 0.5; done`,
      { limitMs: SLOW_MS },
    );
  }

  test("[1.20] [5.13] [11.12] agent killed at any moment is restarted without disrupting a pod", async (t) => {
    t.diagnostic(`seed ${seed()}`);
    const before = Number(await show("NRestarts"));
    await survives(async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        await restarted(`kill -KILL ${MAIN}`);
        await pause(random.fraction() * LIFE_SECONDS_MAX * 1_000);
      }
    });
    // No agent exited by itself.
    assert.equal(Number(await show("NRestarts")) - before, KILLS);
    figure("kills", KILLS, "kills");
    assert.equal(await node.program(), "deckhand");
  });

  test("[1.18] watchdog restarts a hanging agent without disrupting a pod", async () => {
    await survives(() => restarted(`kill -STOP ${MAIN}`));
    assert.match(await node.guest.must("journalctl -u kubelet.service --no-pager"), /Watchdog timeout/);
  });

  test("[3.15] setting the machine's clock ahead and back by an hour restarts no container", async () => {
    const set = (change: string) => node.guest.must(`date --set="$(date --date='${change}')"`);
    await survives(async () => {
      for (const change of ["1 hour", "-2 hours", "1 hour"]) {
        await set(change);
        // Shorter than the lease's grace period: at the earlier time the API server's certificate is not valid yet.
        await pause(CLOCK_SET_MS);
      }
    });
    assert.equal(await node.program(), "deckhand");
  });

  test("package upgrade replaces the running agent without disrupting a pod", async () => {
    const program = () => node.guest.must(`stat -L -c %i /proc/${MAIN}/exe`);
    const before = await program();
    await survives(() => install(`deckhand_${LATER}_amd64.deb`));
    assert.notEqual(await program(), before);
    assert.equal(await program(), await node.guest.must("stat -L -c %i /usr/bin/deckhand"));
    assert.equal((await node.guest.must("dpkg-query -W -f '${Version}' deckhand")).trim(), LATER);
  });

  test("[7.3] every pod starts exactly once after a reboot, with the same reported state as under the Go kubelet", async () => {
    await reboot("deckhand");
    const ours = seen.get("deckhand") ?? assert.fail();
    for (const [name, { begun: times }] of ours) {
      const once = name === "finished" || name === "once" ? 0 : 1;
      assert.deepEqual([...new Set(Object.values(times))], [once], `${name} ${JSON.stringify(times)}`);
    }
    assert.deepEqual([ours.get("once")?.phase, ours.get("finished")?.phase], ["Failed", "Succeeded"]);
    const go = seen.get("go") ?? assert.fail();
    assert.deepEqual(Object.fromEntries(ours), Object.fromEntries(go));
  });

  /**
   * Reboots the machine under its current agent, with one more pod that runs once, and records the state of all pods
   * afterwards.
   */
  async function reboot(side: Side): Promise<void> {
    const once = `once-${side}`;
    await node.apply(oncePod(once));
    await node.pods.running(once, SLOW_MS);
    const counts = await begun(node.guest);
    const earlier = new Map([...running, once, "finished"].map((name) => [name, latest(name)]));
    const startedMs = performance.now();
    await node.guest.reboot();
    const bootedMs = performance.now();
    const isBack = (name: string) =>
      isRunning(latest(name)) && restartsOf(latest(name)) > restartsOf(earlier.get(name) ?? {});
    for (const name of running) {
      await waitUntil(`${name} to be back`, SLOW_MS, async () => isBack(name), 500);
    }
    await waitUntil(`${once} to be over`, SLOW_MS, async () => hasEndedWhole(latest(once)), 500);
    if (side === "deckhand") {
      figure("reboot until the units have settled", Math.round(bootedMs - startedMs), "ms");
      figure("then until every pod is back", Math.round(performance.now() - bootedMs), "ms");
    }
    await pause(SETTLE_MS);
    assert.equal(await node.program(), side === "go" ? "kubelet" : "deckhand");
    const now = await begun(node.guest);
    const reported = [...earlier].map(([name, before]): readonly [string, AfterReboot] => {
      const own = Object.keys(now).filter((key) => key.startsWith(`${name.replace(/-n1$/, "")}.`));
      assert.equal(latest(name).metadata?.uid, before.metadata?.uid, name);
      const times = Object.fromEntries(own.map((key) => [afterSide(key, side), (now[key] ?? 0) - (counts[key] ?? 0)]));
      return [afterSide(name, side), afterReboot(latest(name), before, times)];
    });
    seen.set(side, new Map(reported));
    // Each container exists once, whatever the runtime still lists of earlier instances.
    const containers = (await containersIn(node.guest)).map(({ pod, name }) => `${pod}/${name}`);
    assert.deepEqual(containers, [...new Set(containers)]);
  }

  const latest = (name: string): Pod => node.pods.latest(name) ?? assert.fail(`${name} is there`);
});

/** The pod that runs once has a different name under each agent. */
const afterSide = (name: string, side: Side) => name.replace(`once-${side}`, "once");

const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

const restartsOf = (pod: Pod): number => containersOf(pod).reduce((sum, { restartCount }) => sum + restartCount, 0);

function afterReboot(pod: Pod, before: Pod, begunTimes: Readonly<Record<string, number>>): AfterReboot {
  const earlier = new Map(containersOf(before).map(({ name, restartCount }) => [name, restartCount]));
  return {
    phase: pod.status?.phase,
    ready: conditionOf(pod, "Ready")?.status,
    containers: containersOf(pod).map(({ name, restartCount, ready, started, state, lastState }) => ({
      name,
      ready,
      started,
      restarts: restartCount - (earlier.get(name) ?? 0),
      state: Object.keys(state ?? {}).join(),
      lastExit: [lastState?.terminated?.exitCode, lastState?.terminated?.reason],
    })),
    begun: begunTimes,
  };
}
