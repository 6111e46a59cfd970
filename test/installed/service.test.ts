/** The agent as a service of systemd itself, installed as a package over the Go kubelet's, with kubeadm's drop-in: ready, watched, restarted, given back. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { buildDebFor } from "../../tools/package/packages.ts";
import { scratch } from "../../tools/scratch.ts";
import { buildParts } from "../cluster/parts.ts";
import { figure } from "../figures.ts";
import type { Guest } from "../guest/guest.ts";
import { resumeGuest } from "../guest/guests.ts";
import { noteStarted } from "../started-parts.ts";
import { builtProgram } from "../support/built-program.ts";
import { kubeadmPackage, kubeletPackage } from "../support/upstream-packages.ts";

const CONFIGURATION = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
};
const CLIENT = "/var/lib/kubelet/pki/kubelet-client-current.pem";
/** Nobody answers there. */
const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  users: [{ name: "u", user: { "client-certificate": CLIENT, "client-key": CLIENT } }],
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
};
/** Without a certificate either kubelet would turn to the bootstrap kubeconfig that kubeadm's drop-in names, and which a node that has joined has not got. */
const MAKE_CLIENT = `mkdir -p /var/lib/kubelet/pki; cd /var/lib/kubelet/pki
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /O=system:nodes/CN=system:node:guest -keyout key.pem -out cert.pem
cat cert.pem key.pem > ${CLIENT}; rm cert.pem key.pem`;
/** On an emulated machine beside others a start may take longer than a minute and a half. */
const SLOW_START = "[Service]\nTimeoutStartSec=10min\n";
/** For a test that waits for it. */
const SHORT_WATCHDOG = "[Service]\nWatchdogSec=20\nRestartSec=1\n";
const SLOW_MS = 10 * 60_000;

describe("the service in a guest", () => {
  const folder = scratch();
  let guest: Guest;

  before(async () => {
    const program = await builtProgram();
    const kubelet = { version: "1.36.4-1.1", program: { file: (await buildParts()).path("kubelet") } };
    guest = await resumeGuest();
    await guest.put({
      "/root/deckhand.deb": { from: buildDebFor(process.arch, program, folder.root) },
      "/root/kubelet.deb": { from: await kubeletPackage(kubelet, folder.root) },
      "/root/kubeadm.deb": { from: await kubeadmPackage("1.36.4-1.1", folder.root) },
      "/root/short.conf": { content: SHORT_WATCHDOG },
      "/etc/systemd/system/kubelet.service.d/20-slow.conf": { content: SLOW_START },
      "/var/lib/kubelet/config.yaml": { content: JSON.stringify(CONFIGURATION) },
      "/var/lib/kubelet/kubeadm-flags.env": { content: 'KUBELET_KUBEADM_ARGS="--hostname-override=guest"\n' },
      "/etc/kubernetes/kubelet.conf": { content: JSON.stringify(KUBECONFIG) },
    });
    await guest.must(MAKE_CLIENT);
    await guest.must("dpkg --install /root/kubelet.deb /root/kubeadm.deb && systemctl daemon-reload");
    await guest.must("systemctl enable --now kubelet.service");
  });

  after(async () => {
    await guest.close();
    folder[Symbol.dispose]();
  });

  const show = async (...properties: readonly string[]) =>
    (await guest.must(`systemctl show kubelet.service --value ${properties.map((name) => `-p ${name}`).join(" ")}`))
      .trim()
      .split("\n")
      .filter((line) => line !== "");
  const mainProgram = () => guest.must('readlink "/proc/$(systemctl show -p MainPID --value kubelet.service)/exe"');
  const restarted = (times: number) =>
    guest.must(
      `until [ "$(systemctl show -p NRestarts --value kubelet.service)" -ge ${times} ] && systemctl is-active -q kubelet.service; do sleep 1; done`,
      { limitMs: SLOW_MS },
    );

  test("[1.18] [27.1.39] the package's unit has systemd wait until the agent is ready, with kubeadm's drop-in as it is", async () => {
    assert.equal(await mainProgram(), "/usr/bin/kubelet\n");
    const startedMs = performance.now();
    await guest.must("dpkg --install /root/deckhand.deb", { limitMs: SLOW_MS });
    figure("installation until ready", Math.round(performance.now() - startedMs), "ms");
    assert.deepEqual(await show("Type", "ActiveState", "SubState", "NRestarts"), ["notify", "0", "active", "running"]);
    assert.equal(await mainProgram(), "/usr/bin/deckhand\n");
    noteStarted("deckhand");
    const line = await guest.must(
      "tr '\\0' ' ' <\"/proc/$(systemctl show -p MainPID --value kubelet.service)/cmdline\"",
    );
    assert.match(
      line,
      /^\/usr\/bin\/kubelet --bootstrap-kubeconfig=\S+ --kubeconfig=\S+ --config=\S+ --hostname-override=guest $/,
    );
    assert.equal(await guest.must("curl -sS http://127.0.0.1:10248/healthz"), "ok");
  });

  test("[1.18] the watchdog is fed while the agent lives, and one that stands still is ended and started again", async () => {
    await guest.must(
      "install -D /root/short.conf /etc/systemd/system/kubelet.service.d/30-short.conf && systemctl daemon-reload",
    );
    await guest.must("systemctl restart kubelet.service", { limitMs: SLOW_MS });
    await guest.must("sleep 60");
    assert.deepEqual(await show("NRestarts", "ActiveState"), ["0", "active"]);
    await guest.must('kill -STOP "$(systemctl show -p MainPID --value kubelet.service)"');
    await restarted(1);
    assert.match(await guest.must("journalctl -u kubelet.service --no-pager"), /Watchdog timeout/);
    assert.equal(await mainProgram(), "/usr/bin/deckhand\n");
  });

  test("one that is killed is started again, and one that is stopped says so and ends well", async () => {
    await guest.must("systemctl kill --signal=KILL kubelet.service");
    await restarted(2);
    await guest.must("systemctl stop kubelet.service", { limitMs: SLOW_MS });
    assert.deepEqual(await show("Result", "ActiveState"), ["success", "inactive"]);
    await guest.must("systemctl start kubelet.service", { limitMs: SLOW_MS });
  });

  test("removed, the Go kubelet is the service again, by upstream's unit", async () => {
    await guest.must("rm /etc/systemd/system/kubelet.service.d/30-short.conf");
    await guest.must("dpkg --remove deckhand", { limitMs: SLOW_MS });
    // Nobody answers it, so that it may be between two of its tries.
    const link = '"/proc/$(systemctl show -p MainPID --value kubelet.service)/exe"';
    await guest.must(`until [ "$(readlink ${link})" = /usr/bin/kubelet ]; do sleep 1; done`, { limitMs: SLOW_MS });
    assert.deepEqual(await show("Type", "ActiveState", "UnitFileState"), ["simple", "active", "enabled"]);
    assert.equal((await guest.run("deckhand --version")).code, 127);
  });
});
