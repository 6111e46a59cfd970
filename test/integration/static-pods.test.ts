/** Static pods on a real node: from files and a URL, with mirror pods, also deleted ones, and without an API server. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE } from "../../src/domain/pod/pod-identity.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { auditOf } from "../support/audit.ts";
import { withRuntime } from "../support/node-runtime.ts";
import { StaticWorld, staticManifest, staticUid } from "../support/static-world.ts";
import { NODE, NODE_USER } from "../support/survival-world.ts";
import { manifestDirectory } from "./static-pods/manifest-directory.ts";

describe("static pods on a Deckhand node", () => {
  let world: StaticWorld;
  let server: Server | undefined;

  before(async () => {
    world = await StaticWorld.start();
  });

  after(async () => {
    server?.close();
    await world.down();
  });

  const nothingDoubledOrLost = () => {
    assert.deepEqual(world.oracle.verdict().doubled, []);
    assert.deepEqual(world.oracle.verdict().lost, []);
  };
  const runs = (uid: string) => waitUntil(`${uid} to run`, 60_000, () => Promise.resolve(world.oracle.living.has(uid)));
  const ends = (uid: string) =>
    waitUntil(`${uid} to end`, 60_000, () => Promise.resolve(!world.oracle.living.has(uid)));

  // First, because it counts every static pod on the node.
  manifestDirectory(() => world, { edits: 10, garbage: 50 });

  test("[4.4] [4.8] [11.13] an added static pod runs, and its mirror pod has its hash, owner and status", async () => {
    await world.put("web.yaml", staticManifest("web"));
    const mirror = await world.ready("web", 1);
    const { annotations = {}, ownerReferences, uid } = mirror.metadata ?? {};
    assert.equal(annotations[CONFIG_MIRROR], annotations[CONFIG_HASH]);
    assert.equal(annotations[CONFIG_SOURCE], "file");
    assert.match(annotations[CONFIG_SEEN] ?? "", /^\d{4}-\d\d-\d\dT/);
    assert.notEqual(uid, staticUid(mirror));
    const [owner] = ownerReferences ?? [];
    assert.deepEqual([owner?.kind, owner?.name, owner?.controller], ["Node", NODE, true]);
    const [container] = world.oracle.containersOf(staticUid(mirror));
    const [status] = mirror.status?.containerStatuses ?? [];
    assert.equal(status?.containerID, `containerd://${container?.id}`);
    assert.equal(mirror.status?.phase, "Running");
  });

  test("[4.8] a deleted mirror pod is recreated, and the containers are unaffected", async () => {
    const before = await world.ready("web");
    for (let round = 0; round < 3; round += 1) {
      const { uid } = await world.ready("web").then(({ metadata }) => ({ uid: metadata?.uid }));
      await world.deleteMirror("web");
      await world.mirrorThat("web", "to be another", ({ metadata }) => metadata?.uid !== uid);
    }
    const now = await world.ready("web");
    assert.equal(staticUid(now), staticUid(before));
    assert.deepEqual(now.status?.containerStatuses, before.status?.containerStatuses);
    assert.equal(world.oracle.containersOf(staticUid(now)).length, 1);
    nothingDoubledOrLost();
  });

  test("[11.13] a container that dies is restarted, and the mirror pod's status follows", async () => {
    await world.put("mortal.yaml", staticManifest("mortal"));
    const uid = staticUid(await world.ready("mortal"));
    world.oracle.mayEnd(uid);
    world.oracle.killContainers(uid);
    const mirror = await world.mirrorThat("mortal", "to show the restart", ({ status }) => {
      const [container] = status?.containerStatuses ?? [];
      return container?.restartCount === 1 && container.ready;
    });
    assert.equal(mirror.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 137);
    assert.equal(world.oracle.containersOf(uid).length, 2);
  });

  test("[6.8] [4.5] an edit and its reversal give a new UID and then the first one, one pod after the other", async () => {
    const first = staticUid(await world.ready("web", 1));
    world.oracle.mayEnd(first);
    await world.put("web.yaml", staticManifest("web", 2));
    const second = staticUid(await world.ready("web", 2));
    world.oracle.mayEnd(second);
    assert.notEqual(second, first);
    await ends(first);
    await world.put("web.yaml", staticManifest("web", 1));
    assert.equal(staticUid(await world.ready("web", 1)), first, "the same manifest has the same UID");
    await ends(second);
    const [one, again] = world.oracle.containersOf(first);
    const [other] = world.oracle.containersOf(second);
    const spans = [one, other, again].map((container) => [container?.firstSeenMs ?? 0, container?.lastAliveMs ?? 0]);
    const order = spans.flat();
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      "each ended before the next began",
    );
    assert.deepEqual(world.oracle.verdict().doubled, []);
  });

  test("[4.2] [27.3.2] sandbox annotations hold the source (file), the time of first observation and the hash", async () => {
    const uid = staticUid(await world.ready("web"));
    const node = world.cluster.nodes[0] ?? assert.fail("the cluster has a node");
    const labels = { "io.kubernetes.pod.uid": uid };
    const sandboxes = await withRuntime(node, (runtime) =>
      runtime.listSandboxes({ labels }, new AbortController().signal),
    );
    const [{ annotations } = assert.fail("it has a sandbox")] = sandboxes.filter(({ state }) => state === "ready");
    const { [CONFIG_SEEN]: seen = "", ...rest } = annotations;
    assert.deepEqual(rest, { [CONFIG_SOURCE]: "file", [CONFIG_HASH]: uid });
    assert.match(seen, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/);
  });

  test("[4.3] of two files with the same pod name the first runs, and an event reports the other", async () => {
    await world.put("twin-a.yaml", staticManifest("twin", 1));
    const first = staticUid(await world.ready("twin", 1));
    await world.put("twin-b.yaml", staticManifest("twin", 2));
    const { type } = await world.reported(
      "twin",
      "FailedValidation",
      /from file due to duplicate pod name "twin-n1", ignoring$/,
    );
    assert.equal(type, "Warning");
    assert.equal(staticUid(await world.ready("twin", 1)), first);
    assert.equal(world.oracle.containersOf(first).length, 1);
    world.oracle.mayEnd(first);
    await world.take("twin-b.yaml");
    await world.take("twin-a.yaml");
    await ends(first);
  });

  test("[4.7] a static pod that refers to an API object does not run, and the log says why", async () => {
    const { spec, ...manifest } = staticManifest("referring");
    const volumes = [{ name: "v", secret: { secretName: "s" } }];
    await world.put("referring.yaml", { ...manifest, spec: { ...spec, volumes } });
    const log = () => readFile(world.cluster.component(`kubelet@${NODE}`).logFile, "utf8");
    await waitUntil("the refusal", 10_000, async () => /static pods may not reference secrets/.test(await log()));
    await pause(1_000);
    assert.equal(await world.mirror("referring"), undefined);
    await world.take("referring.yaml");
  });

  test("[6.8] a static pod that is removed and re-added while it terminates runs again once it has terminated", async () => {
    const { spec, ...manifest } = staticManifest("returning");
    const containers = [{ ...spec.containers[0], command: ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"] }];
    const stubborn = { ...manifest, spec: { ...spec, containers, terminationGracePeriodSeconds: 4 } };
    await world.put("returning.yaml", stubborn);
    const uid = staticUid(await world.ready("returning"));
    world.oracle.mayEnd(uid);
    await world.take("returning.yaml");
    await pause(1_500);
    assert.ok(world.oracle.living.has(uid), "it takes its time to end");
    await world.put("returning.yaml", stubborn);
    const again = () => Promise.resolve(world.oracle.containersOf(uid).length === 2);
    await waitUntil("it to run again", 60_000, again);
    const [first, second] = world.oracle.containersOf(uid);
    assert.ok((first?.lastAliveMs ?? 0) <= (second?.firstSeenMs ?? 0), "one after the other");
    assert.equal(staticUid(await world.ready("returning")), uid);
    assert.deepEqual(world.oracle.verdict().doubled, []);
    await world.take("returning.yaml");
    await ends(uid);
  });

  test("[4.8] the mirror pod of an edited or removed static pod stays until the pod has terminated", async () => {
    const stubborn = (edition: number) => {
      const { spec, ...manifest } = staticManifest("shown", edition);
      const containers = [{ ...spec.containers[0], command: ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"] }];
      return { ...manifest, spec: { ...spec, containers, terminationGracePeriodSeconds: 4 } };
    };
    await world.put("shown.yaml", stubborn(1));
    const first = await world.ready("shown", 1);
    world.oracle.mayEnd(staticUid(first));
    const staysWhileRunning = async (mirror: typeof first) => {
      await pause(2_000);
      const now = await world.mirror("shown");
      assert.ok(world.oracle.living.has(staticUid(mirror)), "it takes its time to end");
      assert.deepEqual([now?.metadata?.uid, now?.status?.phase], [mirror.metadata?.uid, "Running"]);
    };
    await world.put("shown.yaml", stubborn(2));
    await staysWhileRunning(first);
    const second = await world.ready("shown", 2);
    world.oracle.mayEnd(staticUid(second));
    await world.take("shown.yaml");
    await staysWhileRunning(second);
    await ends(staticUid(second));
    await waitUntil("the mirror to go", 10_000, async () => (await world.mirror("shown")) === undefined);
    assert.deepEqual(world.oracle.verdict().doubled, []);
  });

  test("[4.8] the mirror pod is deleted after the pod's end also if the agent was killed while the pod terminated", async () => {
    const { spec, ...manifest } = staticManifest("orphan");
    const containers = [{ ...spec.containers[0], command: ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"] }];
    await world.put("orphan.yaml", { ...manifest, spec: { ...spec, containers, terminationGracePeriodSeconds: 6 } });
    const uid = staticUid(await world.ready("orphan"));
    world.oracle.mayEnd(uid);
    await world.take("orphan.yaml");
    await pause(1_000);
    const agent = world.cluster.component(`kubelet@${NODE}`);
    await agent.kill();
    assert.ok(world.oracle.living.has(uid) && (await world.mirror("orphan")) !== undefined);
    await agent.restart();
    await ends(uid);
    await waitUntil("the mirror to go", 10_000, async () => (await world.mirror("orphan")) === undefined);
    nothingDoubledOrLost();
  });

  test("[4.4] [6.8] a manifest that is removed and written again at once restarts its pod; an atomic rewrite does not", async () => {
    await world.put("again.yaml", staticManifest("again"));
    const mirror = await world.ready("again");
    const uid = staticUid(mirror);
    await world.put("again.yaml", staticManifest("again"));
    await pause(3_000);
    assert.equal(world.oracle.containersOf(uid).length, 1);
    world.oracle.mayEnd(uid);
    await world.take("again.yaml");
    await world.put("again.yaml", staticManifest("again"));
    const now = await world.mirrorThat("again", "to show one restart", ({ status }) => {
      const [container] = status?.containerStatuses ?? [];
      return container?.restartCount === 1 && container.ready;
    });
    assert.deepEqual([staticUid(now), now.metadata?.uid], [uid, mirror.metadata?.uid]);
    assert.equal(world.oracle.containersOf(uid).length, 2);
    assert.deepEqual(world.oracle.verdict().doubled, []);
    await world.take("again.yaml");
    await ends(uid);
  });

  test("[7.30] a static pod whose directories cannot be created reports it, and is retried", async () => {
    const uid = "0a1b2c3d-0000-4000-8000-000000000030";
    const inTheWay = join(world.cluster.nodes[0]?.directory ?? "", "lib", "kubelet", "pods", uid);
    await writeFile(inTheWay, "");
    await world.put("blocked.yaml", staticManifest("blocked", 1, { uid }));
    const { type } = await world.reported("blocked", "Failed", /^error making pod data directories: /);
    assert.equal(type, "Warning");
    assert.ok(!world.oracle.living.has(uid));
    await rm(inTheWay);
    await runs(uid);
    world.oracle.mayEnd(uid);
    await world.take("blocked.yaml");
    await ends(uid);
  });

  test("[4.4] a static pod whose file is removed terminates, and its mirror pod is deleted", async () => {
    const uid = staticUid(await world.ready("web"));
    world.oracle.mayEnd(uid);
    await world.take("web.yaml");
    await ends(uid);
    await waitUntil("the mirror to go", 60_000, async () => (await world.mirror("web")) === undefined);
    nothingDoubledOrLost();
  });

  test("[4.6] static pods from a URL run beside those from files, and requests carry staticPodURLHeader", async () => {
    const headers: (string | string[] | undefined)[] = [];
    server = createServer((request, response) => {
      headers.push(request.headers["x-node"]);
      const items = [staticManifest("served"), staticManifest("served-too")];
      response.end(JSON.stringify({ apiVersion: "v1", kind: "PodList", items }));
    });
    const { machineAddress } = world.cluster.layout;
    await new Promise<void>((resolve) => server?.listen(0, machineAddress, resolve));
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    await world.cluster.changeAgent(NODE, "deckhand", {
      configuration: {
        staticPodURL: `http://${machineAddress}:${port}/pods`,
        staticPodURLHeader: { "X-Node": [NODE] },
        httpCheckFrequency: "1s",
      },
    });
    const mirrors = [await world.ready("served"), await world.ready("served-too")];
    for (const { metadata } of mirrors) assert.equal(metadata?.annotations?.[CONFIG_SOURCE], "http");
    assert.ok(headers.length > 0 && headers.every((header) => header === NODE));
    const mortal = staticUid(await world.ready("mortal"));
    assert.equal(world.oracle.containersOf(mortal).length, 2, "what ran before goes on");
    for (const mirror of mirrors) world.oracle.mayEnd(staticUid(mirror));
    await world.cluster.changeAgent(NODE, "deckhand");
    for (const mirror of mirrors) await ends(staticUid(mirror));
    nothingDoubledOrLost();
  });

  test("[1.12] [14.7] without a kubeconfig static pods run, no API request is sent, and podCIDR and oomScoreAdj apply", async () => {
    const mortal = staticUid(await world.ready("mortal"));
    // Not every machine allows a lower score; every machine allows a higher one.
    const configuration = { podCIDR: "198.18.250.0/24", oomScoreAdj: 321 };
    await world.cluster.changeAgent(NODE, "deckhand", { standalone: true, configuration });
    const agent = world.cluster.component(`kubelet@${NODE}`);
    assert.equal((await readFile(`/proc/${agent.pid}/oom_score_adj`, "utf8")).trim(), "321");
    await waitUntil("the range to be handed on", 10_000, async () =>
      /Updating Pod CIDR.*198\.18\.250\.0\/24/.test(await readFile(agent.logFile, "utf8")),
    );
    const said = (await auditOf(world.cluster, NODE_USER)).length;
    await world.put("alone.yaml", staticManifest("alone", 1, { uid: "0a1b2c3d-0000-4000-8000-000000000001" }));
    await runs("0a1b2c3d-0000-4000-8000-000000000001");
    await pause(2_000);
    assert.equal((await auditOf(world.cluster, NODE_USER)).length, said);
    assert.equal(await world.mirror("alone"), undefined);
    assert.equal(world.oracle.containersOf(mortal).length, 2, "what ran before goes on");
    nothingDoubledOrLost();
    await world.cluster.changeAgent(NODE, "deckhand");
    await world.ready("alone");
    assert.equal(world.oracle.containersOf("0a1b2c3d-0000-4000-8000-000000000001").length, 1);
    nothingDoubledOrLost();
  });

  test("[7.16] with the feature gate ContainerStopSignals a container gets its lifecycle.stopSignal", async () => {
    const configuration = { featureGates: { ContainerStopSignals: true } };
    await world.cluster.changeAgent(NODE, "deckhand", { configuration });
    const script = "trap 'exit 0' USR1; trap '' TERM; while :; do sleep 0.1; done";
    const container = { name: "app", image: BUSYBOX_IMAGE, command: ["sh", "-c", script] };
    const [graceSeconds, endMsMax] = [300, 60_000];
    await world.put("signalled.yaml", {
      ...staticManifest("signalled"),
      spec: {
        terminationGracePeriodSeconds: graceSeconds,
        os: { name: "linux" },
        containers: [{ ...container, lifecycle: { stopSignal: "SIGUSR1" } }],
      },
    });
    const uid = staticUid(await world.ready("signalled"));
    world.oracle.mayEnd(uid);
    await world.take("signalled.yaml");
    const askedMs = performance.now();
    await ends(uid);
    assert.ok(
      performance.now() - askedMs < endMsMax,
      "SIGTERM would have no effect before the grace period has expired",
    );
    await world.cluster.changeAgent(NODE, "deckhand");
    nothingDoubledOrLost();
  });

  test("[1.13] Node, Lease and mirror pods carry the node's name", async () => {
    const names = async (...args: readonly string[]) =>
      (await world.cluster.kubectl("get", ...args, "-o", "name")).trim();
    assert.equal(await names("nodes"), `node/${NODE}`);
    assert.equal(await names("leases", "--namespace=kube-node-lease"), `lease.coordination.k8s.io/${NODE}`);
    const mirrors = (await world.mirrors()).map(({ metadata }) => metadata?.name ?? "");
    assert.ok(mirrors.length > 0 && mirrors.every((name) => name.endsWith(`-${NODE}`)), mirrors.join());
  });

  test("[14.5] a pod whose cgroup is gone is killed and runs again in a new one, unless restartPolicy is Never", async () => {
    const { cgroupParent } = world.cluster.layout.node(0);
    const groupOf = (uid: string) => `/sys/fs/cgroup/cpuacct${cgroupParent}/kubepods/besteffort/pod${uid}`;
    /**
     * Removes the cgroup from one of several hierarchies, as a change of the cgroup driver or a manual mistake does:
     * moves its processes to the parent, then removes its directories.
     */
    const takeGroup = async (uid: string) => {
      const inside = (await readdir(groupOf(uid), { withFileTypes: true })).filter((entry) => entry.isDirectory());
      for (const { name } of inside) {
        const pids = (await readFile(join(groupOf(uid), name, "cgroup.procs"), "utf8")).split("\n").filter(Boolean);
        for (const pid of pids) await writeFile(`/sys/fs/cgroup/cpuacct${cgroupParent}/cgroup.procs`, pid);
        await rmdir(join(groupOf(uid), name));
      }
      await rmdir(groupOf(uid));
    };
    const [again, never] = ["0a1b2c3d-0000-4000-8000-000000000003", "0a1b2c3d-0000-4000-8000-000000000004"];
    const once = staticManifest("never", 1, { uid: never });
    await world.put("again.yaml", staticManifest("again", 1, { uid: again }));
    await world.put("never.yaml", { ...once, spec: { ...once.spec, restartPolicy: "Never" } });
    for (const name of ["again", "never"]) await world.ready(name);
    const agent = world.cluster.component(`kubelet@${NODE}`);
    await agent.end();
    for (const uid of [again, never]) {
      for (const { id } of [...world.oracle.containersOf(uid), ...world.oracle.sandboxesOf(uid)]) {
        world.oracle.hasCause(id);
      }
      await takeGroup(uid);
    }
    await agent.restart();
    await waitUntil("the one to run again", 60_000, () =>
      Promise.resolve(
        world.oracle.containersOf(again).filter(({ alive }) => alive).length === 1 &&
          world.oracle.containersOf(again).length === 2,
      ),
    );
    assert.ok((await readdir(groupOf(again))).includes("cgroup.procs"), "a group of its own again");
    await ends(never);
    await world.ready("again");
    assert.equal(world.oracle.containersOf(never).length, 1);
    nothingDoubledOrLost();
    for (const [file, uid] of [
      ["again.yaml", again],
      ["never.yaml", never],
    ] as const) {
      world.oracle.mayEnd(uid);
      await world.take(file);
      await ends(uid);
    }
  });

  test("[1.11] [1.24] [4.10] started without its API server, the agent runs static pods; mirror pods follow once it is back", async () => {
    await world.cluster.component(`kubelet@${NODE}`).end();
    await world.cluster.component("kube-apiserver").kill();
    const uid = "0a1b2c3d-0000-4000-8000-000000000002";
    await world.put("early.yaml", staticManifest("early", 1, { uid }));
    await world.cluster.component(`kubelet@${NODE}`).restart();
    await runs(uid);
    nothingDoubledOrLost();
    await world.cluster.component("kube-apiserver").restart();
    await world.ready("early");
    assert.equal(world.oracle.containersOf(uid).length, 1);
    nothingDoubledOrLost();
  });
});
