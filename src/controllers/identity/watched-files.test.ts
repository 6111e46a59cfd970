import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { ServingCertificate } from "../../domain/identity/certificate-pair.ts";
import { CERTIFICATE_FILE_BYTES_MAX } from "../limits.ts";
import { runCertificateFiles } from "./certificate-files.ts";
import { runClientCa } from "./client-ca.ts";

const [CERTIFICATE, KEY] = ["/pki/tls.crt", "/pki/tls.key"];
const bytes = (text: string) => new TextEncoder().encode(text);

async function world(t: TestContext, { reload = true } = {}) {
  const clock = new ManualClock();
  const files = new FakeFiles({ clock }).port;
  const log = keptLog();
  const servingCertificate = new LatestCell<ServingCertificate | undefined>(undefined);
  const clientCa = new LatestCell<string | undefined>(undefined);
  await files.makeDirectory("/pki", 0o755);
  const write = (path: string, text: string) => files.writeAtomically(path, bytes(text), 0o600);
  const shutdown = new AbortController();
  const servingFault = ({ certificatePem, keyPem }: ServingCertificate) =>
    certificatePem.replace("certificate", "") === keyPem.replace("key", "") ? undefined : "the key is another's";
  const bundleFault = (pem: string) => (pem.startsWith("bundle") ? undefined : "no certificate");
  const parts = { clock, files, log, servingCertificate, clientCa, servingFault, bundleFault };
  const start = () => {
    const running = [
      runCertificateFiles({ certificate: CERTIFICATE, key: KEY, reload }, parts, shutdown.signal),
      runClientCa({ path: "/pki/ca.crt", reload }, parts, shutdown.signal),
    ];
    t.after(async () => {
      shutdown.abort(new Error("over"));
      await Promise.all(running);
      assert.equal(clock.timersPending, 0);
    });
  };
  const shown = () => servingCertificate.value?.certificatePem;
  return { clock, files, log, write, start, shown, clientCa };
}

test("[2.4] the serving certificate is read at startup and again when its files have changed", async (t) => {
  const { clock, write, start, shown, log } = await world(t);
  await write(CERTIFICATE, "certificate1");
  await write(KEY, "key1");
  start();
  await clock.advance(1);
  assert.equal(shown(), "certificate1");
  await write(KEY, "key2");
  await clock.advance(1);
  assert.equal(shown(), "certificate1", "half of a pair is not shown");
  await write(CERTIFICATE, "certificate2");
  await clock.advance(1);
  assert.equal(shown(), "certificate2");
  assert.equal(log.lines.filter((line) => line.includes("the previous content stays in use")).length > 0, true);
  assert.ok(!log.lines.join("\n").includes("key2"));
});

test("[2.4] links to certificate files are followed, also after they are replaced", async (t) => {
  const { clock, files, write, start, shown } = await world(t);
  await files.makeDirectory("/kept", 0o700);
  await write("/kept/1.pem", "certificate1");
  await write("/kept/1.key", "key1");
  await files.link("/kept/1.pem", CERTIFICATE);
  await files.link("/kept/1.key", KEY);
  start();
  await clock.advance(1);
  assert.equal(shown(), "certificate1");
  await write("/kept/2.pem", "certificate2");
  await write("/kept/2.key", "key2");
  await files.link("/kept/2.key", KEY);
  await files.link("/kept/2.pem", CERTIFICATE);
  await clock.advance(1);
  assert.equal(shown(), "certificate2");
});

test("a client CA bundle missing at startup is logged once and read when it appears", async (t) => {
  const { clock, write, start, clientCa, log } = await world(t);
  start();
  await clock.advance(30_000);
  const reported = () =>
    log.lines.filter((line) => line.includes("Failed to load the authorities of client certificates"));
  assert.equal(reported().length, 1);
  await write("/pki/ca.crt", "bundle1");
  await clock.advance(1);
  assert.equal(clientCa.value, "bundle1");
});

test("[2.6] an invalid or removed client CA bundle leaves the previous one in use", async (t) => {
  const { clock, files, write, start, clientCa } = await world(t);
  await write("/pki/ca.crt", "bundle1");
  start();
  await clock.advance(1);
  await write("/pki/ca.crt", "rubbish");
  await clock.advance(1);
  assert.equal(clientCa.value, "bundle1");
  await files.removeFile("/pki/ca.crt");
  await clock.advance(60_000);
  assert.equal(clientCa.value, "bundle1");
  await write("/pki/ca.crt", "bundle2");
  await clock.advance(1);
  assert.equal(clientCa.value, "bundle2");
});

test("[2.6] a client CA bundle larger than the limit leaves the previous one in use and is logged", async (t) => {
  const { clock, write, start, clientCa, log } = await world(t);
  const whole = "bundle1".padEnd(CERTIFICATE_FILE_BYTES_MAX);
  await write("/pki/ca.crt", whole);
  start();
  await clock.advance(1);
  assert.equal(clientCa.value, whole);
  await write("/pki/ca.crt", "bundle2".padEnd(CERTIFICATE_FILE_BYTES_MAX + 1));
  await clock.advance(1);
  assert.equal(clientCa.value, whole);
  assert.ok(log.lines.some((line) => line.includes("the previous content stays in use: read /pki/ca.crt: tooLarge")));
});

test("without reload the first valid client CA bundle stays in use", async (t) => {
  const { clock, write, start, clientCa } = await world(t, { reload: false });
  await write("/pki/ca.crt", "bundle1");
  start();
  await clock.advance(1);
  await write("/pki/ca.crt", "bundle2");
  await clock.advance(120_000);
  assert.equal(clientCa.value, "bundle1");
});
