import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, test } from "node:test";
import {
  AS_AUTHORITY,
  FOR_CLIENTS,
  FOR_SERVERS,
  type Identity,
  TestCertificates,
} from "../../test/support/test-certificates.ts";
import { hostClock } from "../wire/host/clock.ts";
import { verifyClientCertificate } from "./client-certificate.ts";
import { SIGNATURES_CHECKED_MAX } from "./limits.ts";

const x509 = ({ certificatePem }: Identity) => new X509Certificate(certificatePem);
const DAY_MS = 86_400_000;

describe("a client certificate", () => {
  let made: TestCertificates;
  let authority: Identity;
  let otherAuthority: Identity;
  /** Later than the creation of every certificate in these tests. */
  const nowMs = hostClock.wallMs() + 3_600_000;

  before(async () => {
    made = await TestCertificates.in();
    authority = await made.selfSigned({ subject: "/CN=cluster" });
    otherAuthority = await made.selfSigned({ subject: "/CN=cluster" });
  });
  after(async () => made[Symbol.asyncDispose]());

  const verify = (presented: readonly Identity[], known: readonly Identity[] = [authority], atMs = nowMs) =>
    verifyClientCertificate(presented.map(x509), known.map(x509), atMs);
  const whyNot = (presented: readonly Identity[], known?: readonly Identity[], atMs?: number) => {
    const verified = verify(presented, known, atMs);
    return verified.kind === "refused" ? verified.why : verified.kind;
  };

  test("[20.1] gives the user name from its CN and the groups from its Os", async () => {
    const leaf = await made.issue(authority, { subject: "/O=system:masters/O=ops/CN=ada" });
    const verified = verify([leaf]);
    assert.equal(verified.kind, "caller");
    const { caller } = verified;
    assert.deepEqual([caller.name, caller.groups, caller.uid], ["ada", ["system:masters", "ops"], ""]);
    const fingerprint = x509(leaf).fingerprint256.replaceAll(":", "").toLowerCase();
    assert.deepEqual(caller.extra, { "authentication.kubernetes.io/credential-id": [`X509SHA256=${fingerprint}`] });
  });

  test("without a CN is nameless", async () => {
    const leaf = await made.issue(authority, { subject: "/O=system:masters" });
    assert.deepEqual(verify([leaf]), { kind: "nameless" });
  });

  test("without key usages is accepted, and with some only if they include clientAuth", async () => {
    const any = await made.issue(authority, { subject: "/CN=ada", extensions: ["basicConstraints=CA:FALSE"] });
    assert.equal(verify([any]).kind, "caller");
    const server = await made.issue(authority, { subject: "/CN=ada", extensions: [FOR_SERVERS] });
    assert.equal(whyNot([server]), "CN=ada: not meant for clients");
    const both = await made.issue(authority, { subject: "/CN=ada", extensions: [`${FOR_SERVERS},clientAuth`] });
    assert.equal(verify([both]).kind, "caller");
  });

  test("of another authority with the same name is rejected, and so is a self-signed one", async () => {
    const foreign = await made.issue(otherAuthority, { subject: "/CN=ada" });
    assert.equal(whyNot([foreign]), "CN=ada: signed by no authority that is known");
    const own = await made.selfSigned({ subject: "/CN=ada", extensions: [FOR_CLIENTS] });
    assert.equal(whyNot([own]), "CN=ada: signed by no authority that is known");
    assert.equal(verify([foreign], [authority, otherAuthority]).kind, "caller");
  });

  test("is rejected when it has expired and when it is not valid yet", async () => {
    const leaf = await made.issue(authority, { subject: "/CN=ada", days: 1 });
    assert.equal(whyNot([leaf], [authority], nowMs + 1.5 * DAY_MS), "CN=ada: expired");
    assert.equal(whyNot([leaf], [authority], nowMs - 2 * DAY_MS), "CN=ada: not valid yet");
  });

  test("is rejected once its authority has expired", async () => {
    const old = await made.selfSigned({ subject: "/CN=old", days: 1 });
    const leaf = await made.issue(old, { subject: "/CN=ada", days: 5 });
    assert.equal(verify([leaf], [old]).kind, "caller");
    assert.equal(whyNot([leaf], [old], nowMs + 2 * DAY_MS), "CN=ada: signed by no authority that is known");
  });

  test("signed with SHA-1 is rejected", async () => {
    const weak = await made.issue(authority, { subject: "/CN=ada", digest: "sha1" });
    assert.equal(whyNot([weak]), "CN=ada: signed by no authority that is known");
  });

  test("is accepted with intermediates that may sign certificates of clients", async () => {
    const between = await made.issue(authority, { subject: "/CN=team", extensions: [AS_AUTHORITY] });
    const leaf = await made.issue(between, { subject: "/CN=ada" });
    assert.equal(verify([leaf, between]).kind, "caller");
    assert.equal(whyNot([leaf]), "CN=ada: signed by no authority that is known");
    const noSigner = await made.issue(authority, { subject: "/CN=eve", extensions: [FOR_CLIENTS] });
    const byLeaf = await made.issue(noSigner, { subject: "/O=system:masters/CN=ada" });
    assert.equal(whyNot([byLeaf, noSigner]), "O=system:masters,CN=ada: signed by no authority that is known");
    const forServers = await made.issue(authority, { subject: "/CN=web", extensions: [AS_AUTHORITY, FOR_SERVERS] });
    const byServers = await made.issue(forServers, { subject: "/CN=ada" });
    assert.equal(whyNot([byServers, forServers]), "CN=ada: signed by no authority that is known");
  });

  test("causes a limited number of signature checks", async (t) => {
    const looped = await made.selfSigned({ subject: "/CN=loop" });
    const leaf = await made.issue(looped, { subject: "/CN=ada" });
    const others: Identity[] = [];
    for (let count = 0; count < 4; count += 1)
      others.push(await made.selfSigned({ subject: "/CN=loop", keyOf: looped }));
    const checks = t.mock.method(X509Certificate.prototype, "verify");
    const unknown = "CN=ada: signed by no authority that is known";
    assert.equal(whyNot([leaf, looped, ...others]), unknown);
    assert.equal(checks.mock.callCount(), 5); // Each could issue each other: 4 * 325 checks over all possible paths.
    checks.mock.resetCalls();
    assert.equal(whyNot([leaf, ...Array.from({ length: SIGNATURES_CHECKED_MAX + 1 }, () => looped)]), unknown);
    assert.equal(checks.mock.callCount(), SIGNATURES_CHECKED_MAX);
    assert.equal(verify([leaf, ...others, looped], [authority, looped]).kind, "caller");
  });

  test("is verified over several intermediates, in any order", async () => {
    const chain = [authority];
    for (const subject of ["/CN=one", "/CN=two", "/CN=three"])
      chain.unshift(await made.issue(chain[0] ?? authority, { subject, extensions: [AS_AUTHORITY] }));
    const leaf = await made.issue(chain[0] ?? authority, { subject: "/CN=ada" });
    assert.equal(verify([leaf, ...chain]).kind, "caller");
    assert.equal(verify([leaf, ...chain.slice(0, -1).toReversed()]).kind, "caller");
    assert.equal(whyNot([leaf, ...chain.slice(1)]), "CN=ada: signed by no authority that is known");
  });

  test("of an authority itself is accepted, as in the Go kubelet", () => {
    const verified = verify([authority]);
    assert.equal(verified.kind === "caller" && verified.caller.name, "cluster");
  });
});
