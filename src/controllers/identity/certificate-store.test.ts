import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { install } from "../../../sim/world-files.ts";
import { withFileOfSize } from "../../../test/support/file-of-size.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { utf8Text } from "../../base/utf8.ts";
import { certificateFacts } from "../../domain/identity/x509-read.ts";
import { hostKeys } from "../../wire/host/keys.ts";
import { hostRandom } from "../../wire/host/random.ts";
import { CERTIFICATE_FILE_BYTES_MAX, PENDING_KEY_BYTES_MAX } from "../limits.ts";
import { CertificateStore } from "./certificate-store.ts";
import { PendingKey, requestName } from "./pending-key.ts";
import { ensureSelfSigned, makeSelfSigned } from "./self-signed.ts";

const PKI = "/var/lib/kubelet/pki";
const START = Date.UTC(2026, 10, 15, 12, 34, 56);

function world() {
  const clock = new VirtualClock(START);
  const disk = new FakeFiles({ clock });
  const parts = { files: disk.port, clock, random: hostRandom, keys: hostKeys, log: keptLog(), directory: PKI };
  const make = (host = "n1") => makeSelfSigned(parts, { host, addresses: [] });
  const store = (more: Partial<ConstructorParameters<typeof CertificateStore>[0]> = {}) =>
    new CertificateStore({ ...parts, prefix: "kubelet-client", ...more });
  const text = async (path: string) => utf8Text(await disk.port.read(path, 1 << 20));
  const put = (path: string, content: string) => install(disk, path, content);
  return { clock, files: disk.port, parts, make, store, text, put };
}

test("[27.1.4] a pair is one file named by its time, certificates first, with mode 0600, behind a link", async () => {
  const { store, make, files, text } = world();
  const { certificatePem, keyPem } = make();
  await store().update(certificatePem, keyPem);
  const path = `${PKI}/kubelet-client-2026-11-15-12-34-56.pem`;
  assert.deepEqual(await files.list(PKI), ["kubelet-client-2026-11-15-12-34-56.pem", "kubelet-client-current.pem"]);
  assert.equal(await files.readLink(`${PKI}/kubelet-client-current.pem`), path);
  assert.equal((await files.facts(path))?.mode, 0o600);
  assert.equal(await text(path), certificatePem + keyPem);
  assert.equal((await store().current())?.keyPem, keyPem);
});

test("a key that does not match its certificate is refused, and the stored pair stays", async () => {
  const { store, make } = world();
  const [one, other] = [make(), make()];
  await store().update(one.certificatePem, one.keyPem);
  await assert.rejects(store().update(other.certificatePem, one.keyPem), /do not belong together/);
  await assert.rejects(store().update("nothing", one.keyPem), /no certificate/);
  assert.equal((await store().current())?.certificatePem, one.certificatePem);
});

test("[27.1.4] the updated link of a Go kubelet killed between two links becomes current", async () => {
  const { store, make, files, put } = world();
  const { certificatePem, keyPem } = make();
  put(`${PKI}/kubelet-client-2026-01-01-00-00-00.pem`, certificatePem + keyPem);
  await files.link(`${PKI}/kubelet-client-2026-01-01-00-00-00.pem`, `${PKI}/kubelet-client-updated.pem`);
  assert.equal((await store().current())?.keyPem, keyPem);
  assert.deepEqual(await files.list(PKI), ["kubelet-client-2026-01-01-00-00-00.pem", "kubelet-client-current.pem"]);
});

test("an operator's pair is used while the store is empty or broken, until the first update", async () => {
  const { store, make, put, files } = world();
  const [given, plain] = [make(), make()];
  put("/etc/given.crt", given.certificatePem);
  put("/etc/given.key", given.keyPem);
  put(`${PKI}/kubelet-client.crt`, plain.certificatePem);
  put(`${PKI}/kubelet-client.key`, plain.keyPem);
  const elsewhere = [{ certificate: "/etc/given.crt", key: "/etc/given.key" }];
  assert.equal((await store({ elsewhere }).current())?.keyPem, given.keyPem);
  assert.equal((await store().current())?.keyPem, plain.keyPem);
  put(`${PKI}/kubelet-client-x.pem`, "-----BEGIN CERTIFICATE-----\n");
  await files.link(`${PKI}/kubelet-client-x.pem`, `${PKI}/kubelet-client-current.pem`);
  assert.equal((await store().current())?.keyPem, plain.keyPem, "a truncated file is not a pair");
  const made = make();
  await store({ elsewhere }).update(made.certificatePem, made.keyPem);
  assert.equal((await store({ elsewhere }).current())?.keyPem, made.keyPem);
});

test("a certificate or key file larger than the limit is not used; one of exactly the limit is", async () => {
  const { store, make, put, parts } = world();
  const { certificatePem, keyPem } = make();
  const [certificate, key] = [`${PKI}/kubelet-client.crt`, `${PKI}/kubelet-client.key`];
  put(certificate, certificatePem);
  put(key, keyPem);
  for (const path of [certificate, key]) {
    const current = (sizeBytes: number) => store({ files: withFileOfSize(parts.files, path, sizeBytes) }).current();
    assert.equal((await current(CERTIFICATE_FILE_BYTES_MAX))?.keyPem, keyPem);
    assert.equal(await current(CERTIFICATE_FILE_BYTES_MAX + 1), undefined);
    assert.match(parts.log.lines.at(-1) ?? "", new RegExp(`^E Found an unusable certificate: read ${path}: tooLarge`));
  }
});

test("a self-signed certificate or key larger than the limit is replaced; one of exactly the limit is kept", async () => {
  for (const name of ["kubelet.crt", "kubelet.key"]) {
    const { parts, text } = world();
    const ensure = async (sizeBytes: number) => {
      const files = withFileOfSize(parts.files, `${PKI}/${name}`, sizeBytes);
      const { certificate } = await ensureSelfSigned({ ...parts, files }, PKI, { host: "n1", addresses: [] });
      return text(certificate);
    };
    const first = await ensure(0);
    assert.equal(await ensure(CERTIFICATE_FILE_BYTES_MAX), first);
    assert.notEqual(await ensure(CERTIFICATE_FILE_BYTES_MAX + 1), first);
  }
});

test("[27.1.7] a pending key is kept until it is dropped; one that cannot be read is replaced", async () => {
  const { parts, put, files } = world();
  const pending = new PendingKey(parts);
  const first = await pending.loadOrMake();
  assert.equal((await files.facts(`${PKI}/kubelet-client.key.tmp`))?.mode, 0o600);
  assert.equal(await new PendingKey(parts).loadOrMake(), first);
  await pending.drop();
  const second = await pending.loadOrMake();
  assert.notEqual(second, first);
  put(`${PKI}/kubelet-client.key.tmp`, second.slice(0, 60));
  const third = await pending.loadOrMake();
  assert.ok(third !== second && (await pending.loadOrMake()) === third);
});

test("[27.1.7] a pending key larger than the limit is replaced; one of exactly the limit is kept", async () => {
  const { parts } = world();
  const load = (sizeBytes: number) =>
    new PendingKey({
      ...parts,
      files: withFileOfSize(parts.files, `${PKI}/kubelet-client.key.tmp`, sizeBytes),
    }).loadOrMake();
  const first = await load(0);
  assert.equal(await load(PENDING_KEY_BYTES_MAX), first);
  assert.notEqual(await load(PENDING_KEY_BYTES_MAX + 1), first);
});

test("[27.4.7] a CSR's name is stable and differs for each subject, list of usages and boundary between them", () => {
  const key = hostKeys.describe(hostKeys.make()).publicKeyDer;
  const name = (commonName: string, ...more: readonly string[]) =>
    requestName(key, { commonName, organizations: ["system:nodes"] }, more);
  const names = [name("a", "b"), name("ab"), name("a", "b", ""), name("a"), name("b", "a")];
  assert.equal(new Set(names).size, names.length);
  assert.equal(name("a", "b"), names[0]);
  for (const each of names) assert.match(each, /^node-csr-[\w-]{43}$/);
});

test("[2.4] [27.1.6] a self-signed pair is created once and kept, even after it has expired", async () => {
  const { parts, text, files, clock } = world();
  const names = { host: "n1", addresses: ["198.18.0.5"] };
  const paths = await ensureSelfSigned(parts, PKI, names);
  assert.deepEqual(paths, { certificate: `${PKI}/kubelet.crt`, key: `${PKI}/kubelet.key` });
  const modes = await Promise.all([paths.certificate, paths.key].map((path) => files.facts(path)));
  assert.deepEqual(
    modes.map((facts) => facts?.mode),
    [0o644, 0o600],
  );
  const made = await text(paths.certificate);
  const [facts, authority] = certificateFacts(made ?? "");
  const seconds = START / 1000;
  assert.equal(facts?.subject.commonName, `n1@${seconds}`);
  assert.deepEqual(facts.issuer, authority?.subject);
  assert.deepEqual([facts.dnsNames, facts.ipAddresses], [["n1"], ["198.18.0.5"]]);
  assert.deepEqual(
    [START - facts.notBeforeWallMs, facts.notAfterWallMs - facts.notBeforeWallMs],
    [3_600_000, 31_536_000_000],
  );
  await clock.advance(400 * 86_400_000);
  await ensureSelfSigned(parts, PKI, names);
  assert.equal(await text(paths.certificate), made, "kept though its time has passed, as the Go kubelet keeps it");
});

for (const [what, spoil] of [
  ["only the certificate", (put: (path: string, text: string) => void, pem: string) => put(`${PKI}/kubelet.crt`, pem)],
  ["only the key", (put: (path: string, text: string) => void) => put(`${PKI}/kubelet.key`, hostKeys.make())],
  [
    "a certificate and key that do not match",
    (put: (path: string, text: string) => void, pem: string) => {
      put(`${PKI}/kubelet.crt`, pem);
      put(`${PKI}/kubelet.key`, hostKeys.make());
    },
  ],
] as const) {
  // The Go kubelet refuses to start in each of these states until an operator cleans up.
  test(`a previous start that left ${what} does not fail the next start`, async () => {
    const { parts, put, text, make } = world();
    spoil(put, make("old").certificatePem);
    const paths = await ensureSelfSigned(parts, PKI, { host: "n1", addresses: [] });
    const [facts] = certificateFacts((await text(paths.certificate)) ?? "");
    assert.deepEqual(facts?.dnsNames, ["n1"]);
    assert.deepEqual(hostKeys.describe((await text(paths.key)) ?? "").publicKeyDer, facts.publicKeyDer);
  });
}

test("a host that is an IP address is named as an IP address, not as a DNS name", () => {
  const [facts] = certificateFacts(world().make("198.18.0.9").certificatePem);
  assert.deepEqual([facts?.dnsNames, facts?.ipAddresses], [[], ["198.18.0.9"]]);
});
