/**
 * Cgroups of the node, with cgroup v2 and systemd: reserved cgroups, pressure metrics and the teardown of pod cgroups.
 * Where both agents must show the same, Deckhand is compared with the Go kubelet.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import type { Payloads } from "../guest/disks.ts";
import type { Guest } from "../guest/guest.ts";
import { resumeGuest } from "../guest/guests.ts";
import {
  type Agent,
  configuration,
  containerGroups,
  deckhandPayloads,
  podGroups,
  setPods,
  startAgent,
  waitForGroups,
} from "../support/guest-agents.ts";

const AGENTS: readonly Agent[] = ["go", "deckhand"];
const UID = "8dbc75ce-1234-4d1c-9a62-0e3b2f0c1a55";
const POD: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "burstable", namespace: "default", uid: UID },
  spec: {
    hostNetwork: true,
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "main",
        image: BUSYBOX_IMAGE,
        command: ["sh", "-c", "while :; do true; done"],
        resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { cpu: "101m", memory: "64Mi" } },
      },
    ],
  },
};
const SLICE = `kubepods-burstable-pod${UID.replaceAll("-", "_")}.slice`;
const POD_DIRECTORY = `/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/${SLICE}`;

let scratch: string;
let payloads: Payloads;
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "deckhand-guest-"));
  payloads = await deckhandPayloads();
});
after(() => rm(scratch, { recursive: true }));

async function inGuest<T>(run: (guest: Guest) => Promise<T>): Promise<T> {
  const guest = await resumeGuest();
  try {
    await guest.put(payloads);
    return await run(guest);
  } finally {
    await guest.close();
  }
}

/** Runs each agent in a separate guest, one after the other. */
async function byAgent<T>(run: (guest: Guest, agent: Agent) => Promise<T>): Promise<Readonly<Record<Agent, T>>> {
  const [go, deckhand] = [await inGuest((guest) => run(guest, "go")), await inGuest((guest) => run(guest, "deckhand"))];
  return { go, deckhand };
}

const containersRun = (guest: Guest, count: number) =>
  waitForGroups(guest, "the containers", (groups) => containerGroups(groups).length === count);

void test("[14.8] cgroups for reserved resources have the same limits in every file, and systemd's names", async () => {
  const config = configuration({
    enforceNodeAllocatable: ["pods", "system-reserved", "kube-reserved-compressible"],
    systemReserved: { cpu: "250m", memory: "1500Mi", pid: "2000" },
    kubeReserved: { cpu: "150m", memory: "100Mi" },
    systemReservedCgroup: "/system.slice",
    kubeReservedCgroup: "/own-kube.slice",
    evictionHard: { "memory.available": "5%" },
  });
  const seen = await byAgent(async (guest, agent) => {
    // The kubelet treats a cgroup that lacks a controller as missing. systemd enables the controllers that a unit
    // requests, but does not manage hugetlb.
    const asked = "CPUWeight=100 AllowedCPUs=0-1 IOWeight=100 MemoryAccounting=yes TasksAccounting=yes";
    await guest.must(`
      systemd-run --quiet --slice=own-kube.slice --unit kubedaemon sleep 3600
      for slice in own-kube.slice system.slice; do systemctl set-property --runtime $slice ${asked}; done
      for group in /sys/fs/cgroup /sys/fs/cgroup/own.slice; do echo "+hugetlb +rdma +misc" > $group/cgroup.subtree_control; done`);
    await startAgent(guest, agent, config);
    const files = async (group: string) =>
      guest.must(`cd /sys/fs/cgroup${group}; grep -H '' cpu.weight cpu.max memory.max memory.min memory.low memory.high \\
        memory.swap.max pids.max cpuset.cpus hugetlb.*.max cgroup.controllers || true`);
    const kube = "/sys/fs/cgroup/own.slice/own-kube.slice";
    const isHeld = `[ $(cat /sys/fs/cgroup/system.slice/memory.max) = 1572864000 ] && [ -d /sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice ]`;
    // The Go kubelet may limit the huge pages of all pods to the allocatable amount at its start. From its next round,
    // a minute later, there is no limit.
    const isSettled = `grep -qx ${2n ** 62n} /sys/fs/cgroup/kubepods.slice/hugetlb.2MB.max`;
    await guest.must(
      `until ${isHeld} && ${isSettled} && grep -qx 6 ${kube}/cpu.weight && grep -qx 0 ${kube}/hugetlb.2MB.max; do sleep 0.5; done`,
      { limitMs: 180_000 },
    );
    // Files that systemd does not write are written after those that it writes.
    await guest.must("sleep 10");
    return {
      kubepods: await files("/kubepods.slice"),
      system: await files("/system.slice"),
      kube: await files("/own.slice/own-kube.slice"),
      units: await guest.must(
        "systemctl show kubepods.slice system.slice own-kube.slice -p Id,CPUWeight,MemoryMax,TasksMax,AllowedCPUs",
      ),
    };
  });
  assert.deepEqual(seen.deckhand, seen.go);
  assert.match(seen.deckhand.system, /^pids\.max:2000$/m);
  assert.match(seen.deckhand.kube, /^memory\.max:max$/m);
});

void suite("one Deckhand pod with cgroup v2 and systemd", () => {
  let guest: Guest;
  before(async () => {
    guest = await resumeGuest();
    await guest.put(payloads);
    await startAgent(guest, "deckhand");
    await setPods(guest, [POD]);
    await containersRun(guest, 2);
  });
  after(() => guest.close());

  test("[14.12] CPU pressure in /stats/summary and /metrics/cadvisor equals the kernel's total", async () => {
    const total = "sed -n 's/^some.*total=//p'";
    const pressure = `${POD_DIRECTORY}/cri-containerd-$(ctr -n k8s.io containers ls -q 'labels."io.kubernetes.container.name"==main').scope/cpu.pressure`;
    await guest.must(`until [ "$(${total} ${pressure})" -gt 100000 ]; do sleep 0.5; done`);
    // The pods in the summary are only as recent as their last inspection.
    await guest.must(`until curl -sk https://127.0.0.1:10250/stats/summary | grep -q '"main"'; do sleep 1; done`);
    const [before, summary, metrics, later] = (
      await guest.must(`
        ${total} ${pressure}; echo ----
        sleep 30
        curl -sk https://127.0.0.1:10250/stats/summary; echo ----
        curl -sk https://127.0.0.1:10250/metrics/cadvisor | grep '^container_pressure'; echo ----
        ${total} ${pressure}`)
    ).split("----\n");
    const { pods } = JSON.parse(summary ?? "") as {
      readonly pods: readonly {
        readonly containers: readonly {
          readonly cpu: { readonly psi: { readonly some: { readonly total: number } } };
        }[];
      }[];
    };
    const reported = pods[0]?.containers[0]?.cpu.psi.some.total ?? -1;
    assert.ok(reported >= Number(before) && reported <= Number(later), `${before} ${reported} ${later}`);
    const line = (metrics ?? "")
      .split("\n")
      .find(
        (one) => one.startsWith("container_pressure_cpu_waiting_seconds_total{") && one.includes('container="main"'),
      );
    const seconds = Number(line?.split("} ")[1]?.split(" ")[0]);
    assert.ok(seconds * 1e6 >= Number(before) - 1 && seconds * 1e6 <= Number(later) + 1, `${before} ${line} ${later}`);
    const families = new Set((metrics ?? "").match(/^container_pressure_\w+/gm));
    assert.equal(families.size, 6);
  });

  test("[14.14] pod termination kills every process in its cgroup, also those unknown to the runtime, and removes slice and directories", async () => {
    const pid = await guest.must(`
      sleep 3600 >/dev/null 2>&1 & pid=$!
      mkdir ${POD_DIRECTORY}/stray; echo $pid > ${POD_DIRECTORY}/stray/cgroup.procs; echo $pid`);
    await setPods(guest, []);
    await waitForGroups(guest, "the group to go", (groups) => podGroups(groups).length === 0, 120_000);
    const { code } = await guest.run(`kill -0 ${pid.trim()}`);
    assert.notEqual(code, 0);
    assert.equal((await guest.run(`systemctl is-active ${SLICE}`)).stdout, "inactive\n");
    assert.equal(await guest.must(`systemctl list-units --all --plain --no-legend '${SLICE}'`), "");
  });
});

void suite("two agents in turn on one guest", () => {
  test("[14.3] each agent adopts the slices of the other, and pods keep running", async () => {
    await inGuest(async (guest) => {
      await startAgent(guest, "go");
      await setPods(guest, [POD]);
      const before = [...(await containersRun(guest, 2)).keys()].toSorted();
      // If an agent stops in the middle of a container start, the runtime undoes the start, whichever agent comes next.
      await guest.must("until [ $(ctr -n k8s.io tasks ls | grep -c RUNNING) = 2 ]; do sleep 1; done; sleep 20");
      for (const agent of [...AGENTS].toReversed()) {
        await guest.must("systemctl stop agent");
        await startAgent(guest, agent);
        await guest.must("sleep 20");
        const now = await waitForGroups(guest, "the groups", (groups) => containerGroups(groups).length === 2);
        assert.deepEqual([...now.keys()].toSorted(), before, agent);
      }
    });
  });
});
