/** Static pods on a real node: from files and from a URL, with mirrors, without an API server, and in spite of it. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { after, before, describe, test } from "node:test";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE } from "../../src/domain/pod/pod-identity.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { auditOf } from "../support/audit.ts";
import { StaticWorld, staticManifest, staticUid } from "../support/static-world.ts";
import { NODE, NODE_USER } from "../support/survival-world.ts";

describe("static pods on a node of ours", () => {
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

  test("[4.4] [4.8] [11.13] one that is added runs, and its mirror shows it with its hash, its owner and its status", async () => {
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

  test("[4.8] a mirror deleted by hand comes back, and the containers are not touched", async () => {
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

  test("[11.13] a container that dies is restarted, and the mirror's status follows", async () => {
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

  test("[6.8] [4.5] an edit and its taking back: another UID and the first again, one after the other", async () => {
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

  test("[4.4] one whose file is removed ends, and its mirror goes", async () => {
    const uid = staticUid(await world.ready("web"));
    world.oracle.mayEnd(uid);
    await world.take("web.yaml");
    await ends(uid);
    await waitUntil("the mirror to go", 60_000, async () => (await world.mirror("web")) === undefined);
    nothingDoubledOrLost();
  });

  test("[4.6] those of a URL run beside those of the folder, with the headers that were asked for", async () => {
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

  test("[1.12] without a kubeconfig static pods run, and nothing is said to any API server", async () => {
    const mortal = staticUid(await world.ready("mortal"));
    await world.cluster.changeAgent(NODE, "deckhand", { standalone: true });
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

  test("[1.11] [1.24] [4.10] started without its API server, the agent runs static pods; the mirrors come with the server", async () => {
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
