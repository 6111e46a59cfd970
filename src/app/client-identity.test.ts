import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeApiServer } from "../../sim/fake-api-server/fake-api-server.ts";
import { kindOf } from "../../sim/fake-api-server/kinds.ts";
import { FakeKeys } from "../../sim/fake-keys.ts";
import { PortCalls } from "../../sim/port-calls.ts";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { Trace } from "../../sim/trace.ts";
import { directoryOf, load } from "../../test/support/options.ts";
import { keptLog } from "../../test/support/quiet-log.ts";
import { certificateSigningRequests } from "../api/resources.ts";
import { sleep } from "../concurrency/sleep.ts";
import { makeSelfSigned } from "../controllers/identity/self-signed.ts";
import { hostClock } from "../wire/host/clock.ts";
import { createHostFiles } from "../wire/host/files.ts";
import { hostRandom } from "../wire/host/random.ts";
import type { Connection } from "../wire/kube-api/connection.ts";
import { clientIdentity } from "./client-identity.ts";
import { openKubeconfig } from "./options/kubeconfig.ts";

const HOUR_MS = 3_600_000;
const keys = new FakeKeys(new SeededRandom("pairs"));
const never = new AbortController().signal;

/** A certificate pair that is valid for one year, starting one hour before `wallMs`. */
const pairAt = (wallMs: number) =>
  makeSelfSigned(
    { clock: { ...hostClock, wallMs: () => wallMs }, random: hostRandom, keys },
    { host: "n1", addresses: [] },
  );
const GOOD = pairAt(hostClock.wallMs());
const EXPIRED = pairAt(hostClock.wallMs() - 366 * 24 * HOUR_MS);

const base64 = (text: string) => Buffer.from(text).toString("base64");
const kubeconfig = (user: string) => `current-context: c
clusters: [{name: k, cluster: {server: "https://198.19.1.2:6443", certificate-authority-data: ${base64("CA")}}}]
users: [{name: u, user: ${user}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
`;
const embedding = ({ certificatePem, keyPem } = GOOD) =>
  kubeconfig(`{client-certificate-data: ${base64(certificatePem)}, client-key-data: ${base64(keyPem)}}`);
const BOOTSTRAP = kubeconfig("{token: abcdef.0123456789abcdef}");

interface Scene {
  /** The text of the kubeconfig. Undefined: the file does not exist. */
  readonly kubeconfig?: string;
  readonly bootstrap?: boolean;
  readonly rotates?: boolean;
}

function scene(t: TestContext, { kubeconfig: text, bootstrap = false, rotates = false }: Scene) {
  const directory = directoryOf(t, {
    "bootstrap.conf": BOOTSTRAP,
    ...(text === undefined ? {} : { "etc/kubelet.conf": text }),
  });
  const path = (name: string) => join(directory, name);
  const { options } = load([
    `--kubeconfig=${path("etc/kubelet.conf")}`,
    `--cert-dir=${path("pki")}`,
    `--rotate-certificates=${rotates}`,
    ...(bootstrap ? [`--bootstrap-kubeconfig=${path("bootstrap.conf")}`] : []),
  ]);
  const api = new FakeApiServer({ clock: hostClock, random: new SeededRandom("api") });
  const calls = new PortCalls({ clock: hostClock, trace: new Trace(), random: new SeededRandom("calls") });
  const asked: Connection[] = [];
  const connect = (connection: Connection) => {
    asked.push(connection);
    return { ...api.connect(calls.begin("n1", 1), { kind: "node", name: "n1" }), close: async () => {} };
  };
  const files = createHostFiles({ clock: hostClock });
  const parts = { clock: hostClock, random: hostRandom, files, keys, log: keptLog(), connect };
  const settle = (signal: AbortSignal = never) => clientIdentity(options, parts, signal);
  const requests = () => [...api.store.values(kindOf(certificateSigningRequests))].map(({ metadata }) => metadata.name);
  return { path, api, asked, settle, requests };
}

test("the kubeconfig's token is used, without rotation, when there is no bootstrap kubeconfig", async (t) => {
  const { settle } = scene(t, { kubeconfig: kubeconfig("{token: abc}") });
  const identity = await settle();
  assert.deepEqual(
    [identity?.connection.credentials, identity?.rotation],
    [{ kind: "token", token: "abc" }, undefined],
  );
});

test("[2.2] rotation takes the embedded certificate, or the certificate files, of the kubeconfig", async (t) => {
  const embedded = await scene(t, { kubeconfig: embedding(), rotates: true }).settle();
  assert.equal(embedded?.rotation?.embedded?.keyPem, GOOD.keyPem);
  const { path, settle } = scene(t, {
    kubeconfig: kubeconfig("{client-certificate: pair.pem, client-key: pair.pem}"),
    rotates: true,
  });
  writeFileSync(path("etc/pair.pem"), GOOD.certificatePem + GOOD.keyPem);
  const inFiles = (await settle())?.rotation;
  assert.equal(inFiles?.embedded, undefined);
  assert.deepEqual(inFiles?.certificateFiles, { certificate: path("etc/pair.pem"), key: path("etc/pair.pem") });
});

test("[2.1] a valid kubeconfig is preferred to the bootstrap kubeconfig", async (t) => {
  const { settle, asked } = scene(t, { kubeconfig: embedding(), bootstrap: true });
  assert.equal((await settle())?.connection.credentials.kind, "certificate");
  assert.deepEqual(asked, []);
});

for (const [what, text] of [
  ["does not exist", undefined],
  ["is invalid", "nonsense: ["],
  ["has a token only", kubeconfig("{token: abc}")],
  ["names a missing file", kubeconfig("{client-certificate: gone.pem, client-key: gone.pem}")],
  ["has an expired certificate", embedding(EXPIRED)],
] as const) {
  test(`[2.1] when the kubeconfig ${what}, it is rewritten and startup does not wait for the certificate`, async (t) => {
    const { settle, path, requests } = scene(t, {
      ...(text === undefined ? {} : { kubeconfig: text }),
      bootstrap: true,
      rotates: true,
    });
    const identity = await settle();
    assert.deepEqual(identity?.connection.credentials, { kind: "awaited" });
    assert.deepEqual(identity.rotation?.bootstrap.credentials, { kind: "token", token: "abcdef.0123456789abcdef" });
    assert.equal(statSync(path("etc/kubelet.conf")).mode & 0o777, 0o600);
    mkdirSync(path("pki"), { recursive: true });
    writeFileSync(path("pki/kubelet-client-current.pem"), GOOD.certificatePem + GOOD.keyPem);
    const { connection, certificateFiles } = openKubeconfig(path("etc/kubelet.conf"));
    assert.deepEqual([connection.url, connection.ca], ["https://198.19.1.2:6443", "CA"]);
    assert.equal(certificateFiles?.key, path("pki/kubelet-client-current.pem"));
    assert.deepEqual(requests(), []);
  });
}

test("[2.1] [27.1.7] without rotation startup waits for the first certificate, and a restart reuses the pending CSR", async (t) => {
  const { settle, path, requests, api } = scene(t, { bootstrap: true });
  const stop = new AbortController();
  const given = settle(stop.signal);
  while (requests().length === 0) await sleep(hostClock, 5, never);
  stop.abort(new Error("ended by SIGTERM"));
  await assert.rejects(given, /ended by SIGTERM/);
  assert.deepEqual(readdirSync(path("pki")), ["kubelet-client.key.tmp"]);
  assert.equal(statSync(path("pki/kubelet-client.key.tmp")).mode & 0o777, 0o600);
  const signer = api.signCertificates({ lifeMs: 24 * HOUR_MS, decide: () => undefined });
  const again = settle();
  hostClock.after(50, () => signer.decide(requests()[0] ?? "", "Approved"));
  const identity = await again;
  assert.equal(requests().length, 1);
  assert.equal(identity?.connection.credentials.kind, "certificate");
  assert.equal(readdirSync(path("pki")).includes("kubelet-client.key.tmp"), false);
  assert.match(readFileSync(path("etc/kubelet.conf"), "utf8"), /kubelet-client-current\.pem/);
});

test("[2.1] a denied CSR fails the start, and the next start requests with another key", async (t) => {
  const { settle, path, requests, api } = scene(t, { bootstrap: true });
  api.signCertificates({ lifeMs: HOUR_MS, decide: () => ({ verdict: "Denied", afterMs: 5 }) });
  await assert.rejects(settle(), /is denied/);
  assert.deepEqual(readdirSync(path("pki")), []);
  api.signCertificates({ lifeMs: HOUR_MS, decide: () => ({ verdict: "Approved", afterMs: 5 }) });
  await settle();
  assert.equal(requests().length, 2);
});

test("kubelet-client-updated.pem left by a Go kubelet is restored before the kubeconfig is read", async (t) => {
  const { settle, path } = scene(t, {
    kubeconfig: kubeconfig(
      "{client-certificate: ../pki/kubelet-client-current.pem, client-key: ../pki/kubelet-client-current.pem}",
    ),
    bootstrap: true,
    rotates: true,
  });
  mkdirSync(path("pki"));
  writeFileSync(path("pki/kubelet-client-1.pem"), GOOD.certificatePem + GOOD.keyPem);
  symlinkSync(path("pki/kubelet-client-1.pem"), path("pki/kubelet-client-updated.pem"));
  assert.equal((await settle())?.connection.credentials.kind, "certificate");
});
