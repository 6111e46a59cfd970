/**
 * The agent as a systemd service, installed as a package over the Go kubelet's package, with kubeadm's drop-in. It
 * notifies readiness, feeds the watchdog and is restarted; its removal restores the Go kubelet.
 */
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
/** No server listens at this address. */
const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  users: [{ name: "u", user: { "client-certificate": CLIENT, "client-key": CLIENT } }],
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
};
/**
 * Creates a client certificate. Without one, either kubelet would use the bootstrap kubeconfig that kubeadm's drop-in
 * names, and a node that has joined no longer has that file.
 */
const MAKE_CLIENT = `mkdir -p /var/lib/kubelet/pki; cd /var/lib/kubelet/pki
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /O=system:nodes/CN=system:node:guest -keyout key.pem -out cert.pem
cat cert.pem key.pem > ${CLIENT}; rm cert.pem key.pem`;
/** On an emulated machine that runs beside others, a start may take longer than systemd's default of 90 s. */
const SLOW_START = "[Service]\nTimeoutStartSec=10min\n";
/** Short, because a test waits for the watchdog. */
const SHORT_WATCHDOG = "[Service]\nWatchdogSec=20\nRestartSec=1\n";
const SLOW_MS = 10 * 60_000;

describe("the service in a guest", () => {
  const directory = scratch();
  let guest: Guest;

  before(async () => {
    const program = await builtProgram();
    const kubelet = { version: "1.36.4-1.1", program: { file: (await buildParts()).path("kubelet") } };
    guest = await resumeGuest();
    await guest.put({
      "/root/deckhand.deb": { from: buildDebFor(process.arch, program, directory.root) },
      "/root/kubelet.deb": { from: await kubeletPackage(kubelet, directory.root) },
      "/root/kubeadm.deb": { from: await kubeadmPackage("1.36.4-1.1", directory.root) },
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
    directory[Symbol.dispose]();
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

  test("[1.18] [27.1.39] systemd waits until the agent is ready, with the package's unit and kubeadm's unchanged drop-in", async () => {
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

  test("[1.18] agent feeds the watchdog, which restarts an agent that hangs", async () => {
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

  test("systemd restarts a killed agent; a stopped agent exits with success", async () => {
    await guest.must("systemctl kill --signal=KILL kubelet.service");
    await restarted(2);
    await guest.must("systemctl stop kubelet.service", { limitMs: SLOW_MS });
    assert.deepEqual(await show("Result", "ActiveState"), ["success", "inactive"]);
    await guest.must("systemctl start kubelet.service", { limitMs: SLOW_MS });
  });

  test("removing the package restores the Go kubelet with upstream's unit", async () => {
    await guest.must("rm /etc/systemd/system/kubelet.service.d/30-short.conf");
    await guest.must("dpkg --remove deckhand", { limitMs: SLOW_MS });
    // No API server answers, so the Go kubelet may be between two attempts to start.
    const link = '"/proc/$(systemctl show -p MainPID --value kubelet.service)/exe"';
    await guest.must(`until [ "$(readlink ${link})" = /usr/bin/kubelet ]; do sleep 1; done`, { limitMs: SLOW_MS });
    assert.deepEqual(await show("Type", "ActiveState", "UnitFileState"), ["simple", "active", "enabled"]);
    assert.equal((await guest.run("deckhand --version")).code, 127);
  });
});
