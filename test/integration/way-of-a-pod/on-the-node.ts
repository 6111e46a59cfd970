/**
 * What a pod has on its node: directories, logs, termination messages, namespaces, a host name; and containers that
 * cannot start.
 */
import assert from "node:assert/strict";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { cgroupsLeft } from "../../cluster/cgroups.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { BUSYBOX, SLEEPER, sh } from "../../support/cluster-pods.ts";
import { linksToLogs, logOf, onMachine, podCgroupOf, podLogDirectoryOf } from "../../support/node-files.ts";
import { makePod, runPod, uidOf, type World } from "./world.ts";

const ended = ({ status }: Pod) => status?.phase === "Succeeded" || status?.phase === "Failed";
const terminatedOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.terminated;

async function endOf(world: World, name: string, spec: Parameters<typeof makePod>[2]): Promise<Pod> {
  await makePod(world, name, { restartPolicy: "Never", ...spec });
  return world.pods.first(name, "ended", ended);
}

export function onTheNode(world: () => World): void {
  void suite("what a pod has on its node", () => {
    directories(world);
    terminationMessage(world);
    namespaces(world);
  });
}

function directories(world: () => World): void {
  test("[7.23][27.1.1][27.1.13] a pod has data directories with upstream's modes, and a cgroup", async () => {
    const { node } = world();
    const pod = await runPod(world(), "directories", { containers: [SLEEPER] });
    const root = `/var/lib/kubelet/pods/${uidOf(pod)}`;
    for (const path of ["/var/lib/kubelet", root, `${root}/volumes`, `${root}/plugins`, `${root}/containers/main`]) {
      const facts = await stat(onMachine(node, path));
      assert.ok(facts.isDirectory(), path);
      assert.equal(facts.mode & 0o777, 0o750, path);
    }
    const [file = ""] = await readdir(onMachine(node, `${root}/containers/main`));
    assert.match(file, /^[0-9a-f]{8}$/);
    assert.equal((await stat(onMachine(node, `${root}/containers/main/${file}`))).mode & 0o777, 0o666);
    assert.ok((await cgroupsLeft(podCgroupOf(node, pod))).length > 0);
  });

  test("[14.9] the Burstable cgroup has the CPU shares of its pods' requests, and the BestEffort cgroup has 2", async () => {
    const { node, pods } = world();
    const shares = async (tier: string) =>
      Number(await readFile(`/sys/fs/cgroup/cpu${node.cgroupParent}/kubepods/${tier}/cpu.shares`, "utf8"));
    const requesting = (milli: number) => ({ ...SLEEPER, resources: { requests: { cpu: `${milli}m` } } });
    const before = await shares("burstable");
    await runPod(world(), "asks-300", { containers: [requesting(300)] });
    await runPod(world(), "asks-200", { containers: [requesting(200)] });
    const added = async () => (await shares("burstable")) - before;
    // 500m are 512 shares; an empty QoS cgroup has 2, and every sum is rounded down.
    const isNear = async (wanted: number) => Math.abs((await added()) - wanted) <= 2;
    await waitUntil("the shares of both", 30_000, () => isNear(512));
    assert.equal(await shares("besteffort"), 2);
    for (const name of ["asks-300", "asks-200"]) await pods.delete(name, 0);
    await waitUntil("the shares to be taken back", 90_000, () => isNear(0));
  });

  test("[7.22][27.1.34][27.1.35] a symlink named after pod and container points to the log", async () => {
    const { node } = world();
    const pod = await runPod(world(), "linked", { containers: [sh("echo here; exec sleep 1000")] });
    const id = pod.status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    await waitUntil("the link", 30_000, async () => (await linksToLogs(node, pod)).length > 0);
    const [link = ""] = await linksToLogs(node, pod);
    assert.equal(link, `linked_default_main-${id}.log`);
    const target = await readlink(onMachine(node, `/var/log/containers/${link}`));
    assert.equal(target, `${podLogDirectoryOf(pod)}/main/0.log`);
    // A container runs before its program has printed anything, and containerd copies its output.
    await waitUntil("the line in the log", 30_000, async () => /^here$/m.test(await logOf(node, pod)));
    for (const directory of [podLogDirectoryOf(pod), `${podLogDirectoryOf(pod)}/main`]) {
      assert.equal((await stat(onMachine(node, directory))).mode & 0o777, 0o755, directory);
    }
  });

  test("[7.22][7.24][19.1] a terminated pod keeps its log; a restarting container keeps only its last previous run", async () => {
    const { node, pods, proxy } = world();
    const done = await endOf(world(), "kept", { containers: [sh("echo to be read later")] });
    const again = sh("echo again; sleep 0.1");
    await makePod(world(), "crashing", { containers: [again], restartPolicy: "Always" });
    const isThird = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount === 2;
    const crashing = await pods.first("crashing", "was run a third time", isThird, 90_000);
    const directory = onMachine(node, `${podLogDirectoryOf(crashing)}/main`);
    const isTidy = async () => {
      const logs = (await readdir(directory)).toSorted();
      return logs.length === 2 && !logs.includes("0.log");
    };
    await waitUntil("the first run's log to go", 30_000, isTidy);
    await waitUntil("its link to go", 30_000, async () => (await linksToLogs(node, crashing)).length === 2);
    assert.match(await logOf(node, done), /^to be read later$/m);
    assert.ok(proxy.calls.some(({ method }) => method === "RemoveContainer"));
    await pods.delete("crashing");
    await pods.gone("crashing");
  });

  test("[6.11][7.24][19.1] deleting a pod removes its directories, logs, links, cgroup and containers", async () => {
    const { node, pods } = world();
    const pod = pods.latest("linked") ?? assert.fail();
    await pods.delete("linked");
    await pods.gone("linked");
    const { stdout } = await node.run("ls", "/var/lib/kubelet/pods", "/var/log/containers", "/var/log/pods");
    assert.ok(stdout.length > 0);
    assert.deepEqual(await cgroupsLeft(podCgroupOf(node, pod)), []);
    const isGone = async () => {
      const left = await node.run("ls", "/var/lib/kubelet/pods", "/var/log/containers", "/var/log/pods");
      return !left.stdout.includes(uidOf(pod)) && !left.stdout.includes("linked_default");
    };
    await waitUntil("what it had on disk to go", 90_000, isGone, 500);
  });
}

function terminationMessage(world: () => World): void {
  test("[7.17] the last 4096 bytes of the termination message file are the message", async () => {
    const zeros = (count: number, letter: string) => `head -c ${count} /dev/zero | tr '\\0' ${letter}`;
    const message = sh(`(${zeros(904, "x")}; ${zeros(4096, "y")}) > /dev/termination-log; exit 3`);
    const pod = await endOf(world(), "words", { containers: [message] });
    assert.equal(terminatedOf(pod)?.exitCode, 3);
    assert.equal(terminatedOf(pod)?.message, "y".repeat(4096));
  });

  test("[7.17] FallbackToLogsOnError uses the end of the log of a failed container without a file", async () => {
    const script = (code: number) => ({
      ...sh(`seq 100 | sed 's/^/line /'; exit ${code}`),
      terminationMessagePolicy: "FallbackToLogsOnError",
    });
    const failed = await endOf(world(), "tail", { containers: [script(2)] });
    const lines = Array.from({ length: 80 }, (_, index) => `line ${index + 21}\n`).join("");
    assert.equal(terminatedOf(failed)?.message, lines);
    const fine = await endOf(world(), "no-tail", { containers: [script(0)] });
    assert.equal(terminatedOf(fine)?.message, undefined);
  });
}

function namespaces(world: () => World): void {
  test("[7.27] a pod has its own host name, truncated to 63 characters", async () => {
    const { node } = world();
    const long = `a${"-b".repeat(40)}`;
    const cases = [
      ["named", {}, "named"],
      ["chosen", { hostname: "other", subdomain: "sub" }, "other"],
      [long, {}, long.slice(0, 63).replace(/[-.]+$/, "")],
      ["overridden", { hostnameOverride: "over.ride", hostname: "other" }, "over.ride"],
      ["qualified", { subdomain: "sub", setHostnameAsFQDN: true }, "qualified.sub.default.svc.cluster.local"],
      ["nodes-own", { hostNetwork: true }, node.name],
    ] as const;
    for (const [name, spec, expected] of cases) {
      const pod = await endOf(world(), name, { ...spec, containers: [sh("hostname")] });
      assert.equal((await logOf(node, pod)).trim(), expected);
    }
  });

  test("[7.28] network and PID namespaces are the container's, the pod's or the node's, as the pod requests", async () => {
    const { node } = world();
    const look = sh(
      "cat /proc/1/comm; ls /sys/class/net | sort | tr '\\n' ' '; echo; ls /proc 2>/dev/null | grep -c '^[0-9]'",
    );
    const lines = async (name: string, spec: Parameters<typeof makePod>[2]) =>
      (await logOf(node, await endOf(world(), name, { ...spec, containers: [look] }))).split("\n");
    const [own, links] = await lines("ns-own", {});
    assert.equal(own, "sh");
    assert.equal(links?.trim(), "eth0 lo");
    const [shared] = await lines("ns-shared", { shareProcessNamespace: true });
    assert.equal(shared, "pause");
    const [, nodeLinks] = await lines("ns-network", { hostNetwork: true });
    assert.ok(nodeLinks?.includes("pods0"), nodeLinks ?? "");
    const [first, , count] = await lines("ns-pid", { hostPID: true });
    assert.notEqual(first, "sh");
    assert.ok(Number(count) > 20, `${count} processes`);
  });

  test("[7.28] the IPC namespace is the pod's, or the node's with hostIPC", async () => {
    const { node } = world();
    const look = (name: string) => sh("readlink /proc/self/ns/ipc", name);
    const own = async (name: string, spec: Parameters<typeof makePod>[2]) => {
      const pod = await endOf(world(), name, { ...spec, containers: [look("main"), look("other")] });
      return Promise.all(["main", "other"].map(async (container) => (await logOf(node, pod, container)).trim()));
    };
    const machine = await readlink("/proc/self/ns/ipc");
    const [main, other] = await own("ipc-own", {});
    assert.equal(main, other);
    assert.notEqual(main, machine);
    assert.deepEqual(await own("ipc-node", { hostIPC: true }), [machine, machine]);
  });

  test("[11.8] a pod with hostNetwork has the node's address", async () => {
    const { node } = world();
    const pod = await runPod(world(), "on-network", { hostNetwork: true, containers: [SLEEPER] });
    assert.equal(pod.status?.podIP, node.address);
    assert.equal(pod.status?.hostIP, node.address);
  });

  test("[7.18] containers that cannot start report why, and the pod's other containers run", async () => {
    const { pods } = world();
    await makePod(world(), "troubled", {
      containers: [
        { name: "absent", image: "registry.k8s.io/not/there:1" },
        { name: "never", image: "registry.k8s.io/not/there:1", imagePullPolicy: "Never" },
        { name: "nothing", image: BUSYBOX, command: ["/no/such/program"] },
        { ...SLEEPER, name: "fine" },
      ],
    });
    const reasons = (pod: Pod) =>
      new Map((pod.status?.containerStatuses ?? []).map(({ name, state, lastState }) => [name, { state, lastState }]));
    const waits = (name: string, reason: string) => (pod: Pod) =>
      reasons(pod).get(name)?.state?.waiting?.reason === reason;
    await pods.first("troubled", "failed to pull", waits("absent", "ErrImagePull"));
    const pod = await pods.first("troubled", "held back its pull", waits("absent", "ImagePullBackOff"));
    assert.match(
      reasons(pod).get("absent")?.state?.waiting?.message ?? "",
      /^Back-off pulling image "registry.k8s.io\/not\/there:1": ErrImagePull: /,
    );
    await pods.first("troubled", "never pulls", waits("never", "ErrImageNeverPull"));
    const isRefused = (at: Pod) => reasons(at).get("nothing")?.lastState?.terminated?.reason === "StartError";
    const refused = await pods.first("troubled", "could not run the program", isRefused);
    assert.equal(reasons(refused).get("nothing")?.lastState?.terminated?.exitCode, 128);
    await pods.first("troubled", "ran the other", (at) => reasons(at).get("fine")?.state?.running !== undefined);
    await pods.delete("troubled");
    await pods.gone("troubled");
  });
}
