import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../sim/fake-files.ts";
import { kubeletOptions } from "../../sim/kubelet.ts";
import { install } from "../../sim/world-files.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { TestCertificates } from "../../test/support/test-certificates.ts";
import { requiredFilesFault } from "./required-files.ts";

const SERVING = ["--tls-cert-file=/pki/a.crt", "--tls-private-key-file=/pki/a.key"];
const CLIENT_CA = "--client-ca-file=/pki/ca.crt";

test("[2.4] a serving certificate that is missing, empty or of another key ends the start", async () => {
  await using certificates = await TestCertificates.in();
  const [one, other] = await Promise.all(
    ["/CN=one", "/CN=other"].map((subject) => certificates.selfSigned({ subject })),
  );
  const disk = new FakeFiles({ clock: new ManualClock() });
  const faultWith = (...flags: readonly string[]) =>
    requiredFilesFault(kubeletOptions("n1", ...SERVING, ...flags), disk.port);
  const reloaded =
    "failed to create kubelet: failed to initialize file based certificate manager: unable to set up dynamic certificate manager for kubelet server cert files";
  assert.equal(await faultWith(), `${reloaded}: open /pki/a.crt: no such file or directory`);
  install(disk, "/pki/a.crt", "");
  install(disk, "/pki/a.key", one?.keyPem ?? "");
  assert.equal(
    await faultWith(),
    `${reloaded}: missing content for serving cert "kubelet-server-cert-files::/pki/a.crt::/pki/a.key"`,
  );
  install(disk, "/pki/a.crt", other?.certificatePem ?? "");
  const once = "--feature-gates=ReloadKubeletServerCertificateFile=false";
  assert.match((await faultWith(once)) ?? "", /^failed to create kubelet: failed to load certificate: .*mismatch/);
  assert.equal(await faultWith("--deckhand-compatibility=enhanced"), undefined);
  install(disk, "/pki/a.crt", one?.certificatePem ?? "");
  assert.equal(await faultWith(), undefined);
});

test("[20.1] a client CA file that is missing or broken ends the start", async () => {
  await using certificates = await TestCertificates.in();
  const { certificatePem } = await certificates.selfSigned({ subject: "/CN=authority" });
  const disk = new FakeFiles({ clock: new ManualClock() });
  const fault = (...flags: readonly string[]) =>
    requiredFilesFault(kubeletOptions("n1", CLIENT_CA, ...flags), disk.port);
  assert.equal(await fault(), "open /pki/ca.crt: no such file or directory");
  install(disk, "/pki/ca.crt", "");
  assert.equal(await fault(), 'missing content for CA bundle "client-ca-bundle::/pki/ca.crt"');
  install(disk, "/pki/ca.crt", "no certificate");
  const why = "data does not contain any valid RSA or ECDSA certificates";
  assert.equal(await fault(), `error loading CA bundle for "client-ca-bundle::/pki/ca.crt": ${why}`);
  assert.equal(await fault("--deckhand-compatibility=enhanced"), undefined);
  install(disk, "/pki/ca.crt", certificatePem);
  assert.equal(await fault(), undefined);
});
