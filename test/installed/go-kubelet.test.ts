/** The Go kubelet in a guest: its handling of a static pod is the reference for Deckhand. */
import assert from "node:assert/strict";
import { get } from "node:https";
import { after, before, describe, test } from "node:test";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { figure } from "../figures.ts";
import type { Guest } from "../guest/guest.ts";
import { resumeGuest } from "../guest/guests.ts";

const CONFIGURATION = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  staticPodPath: "/etc/kubernetes/manifests",
};

const resources = { cpu: "500m", memory: "64Mi" };
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "guaranteed", namespace: "default" },
  spec: {
    containers: [
      {
        name: "main",
        image: BUSYBOX_IMAGE,
        command: ["sleep", "3600"],
        resources: { requests: resources, limits: resources },
      },
    ],
  },
};

const RUNNING_MS = 5 * 60_000;

describe("the Go kubelet in a guest", () => {
  let guest: Guest;
  let scope = "";

  before(async () => {
    guest = await resumeGuest();
    await guest.put({
      "/etc/kubelet.json": { content: JSON.stringify(CONFIGURATION) },
      "/etc/kubernetes/manifests/guaranteed.json": { content: JSON.stringify(POD) },
    });
  });
  after(() => guest.close());

  test("notifies systemd of readiness and runs a static pod", async () => {
    const kubelet = "/opt/kubernetes/bin/kubelet --config=/etc/kubelet.json --hostname-override=guest";
    let startedMs = performance.now();
    await guest.must(`systemd-run --quiet --unit kubelet --service-type=notify ${kubelet}`);
    figure("kubelet READY=1", Math.round(performance.now() - startedMs), "ms");
    startedMs = performance.now();
    const found = await guest.must(
      `until pid=$(pgrep -xf 'sleep 3600'); do sleep 0.5; done; sed s/^0::// /proc/$pid/cgroup`,
      { limitMs: RUNNING_MS },
    );
    figure("static pod runs after READY=1", Math.round(performance.now() - startedMs), "ms");
    scope = found.trim();
    assert.match(scope, /^\/kubepods\.slice\/kubepods-pod[0-9a-f]{32}\.slice\/cri-containerd-[0-9a-f]{64}\.scope$/);
    assert.equal(await guest.must(`systemctl show -p ActiveState --value ${scope.split("/").at(-1)}`), "active\n");
  });

  test("gives the pod the cgroup values of the systemd driver on cgroup v2", async () => {
    const value = async (path: string, file: string) => (await guest.must(`cat /sys/fs/cgroup${path}/${file}`)).trim();
    const pod = scope.slice(0, scope.lastIndexOf("/"));
    for (const path of [pod, scope]) {
      assert.equal(await value(path, "memory.max"), String(64 * 2 ** 20));
      assert.equal(await value(path, "cpu.max"), "50000 100000");
    }
    assert.equal(await value(pod, "cpu.weight"), "20");
    // The runtime converts CPU shares with its newer formula.
    assert.equal(await value(scope, "cpu.weight"), "59");
    assert.equal(await value(scope, "memory.oom.group"), "1");
    assert.equal(await value(scope, "memory.swap.max"), "0");
    assert.equal(await value("/kubepods.slice", "cpu.weight"), "79");
    for (const qos of ["besteffort", "burstable"]) {
      assert.equal(await value(`/kubepods.slice/kubepods-${qos}.slice`, "cpu.weight"), "1");
    }
  });

  test("answers the host through a forwarded port", async () => {
    const port = await guest.hostPort(10250);
    const answer = await askUnchecked(port, "/pods");
    const { items } = JSON.parse(answer) as { readonly items: readonly (typeof POD)[] };
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["guaranteed-guest"],
    );
  });
});

/** Does not verify the kubelet's certificate, which is self-signed. */
function askUnchecked(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get({ host: "127.0.0.1", port, path, rejectUnauthorized: false, timeout: 60_000 }, (response) => {
      response.setEncoding("utf8");
      let said = "";
      response.on("data", (chunk: string) => {
        said += chunk;
      });
      response.once("end", () => resolve(said));
      response.once("error", reject);
    });
    asked.once("timeout", () => asked.destroy(new Error("no answer")));
    asked.once("error", reject);
  });
}
