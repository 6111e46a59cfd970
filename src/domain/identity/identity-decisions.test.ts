import assert from "node:assert/strict";
import { test } from "node:test";
import type { CertificateSigningRequest } from "../../api/gen/certificates-v1.ts";
import { bootstrappedKubeconfig } from "./bootstrapped-kubeconfig.ts";
import type { CertificateFacts, CertificatePair } from "./certificate-pair.ts";
import {
  failedToRenew,
  NO_CERTIFICATE,
  renewed,
  rotateAtWallMs,
  satisfies,
  ttlSeconds,
  validPair,
} from "./certificate-state.ts";
import { requestState } from "./request-state.ts";
import { servingTemplate } from "./serving-names.ts";

const DAY_MS = 86_400_000;
const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const pair = (facts: Partial<CertificateFacts> = {}): CertificatePair => ({
  certificatePem: "",
  keyPem: "",
  facts: {
    subject,
    issuer: subject,
    dnsNames: ["n1"],
    ipAddresses: ["198.18.0.5"],
    notBeforeWallMs: 0,
    notAfterWallMs: 100 * DAY_MS,
    publicKeyDer: new Uint8Array(),
    ...facts,
  },
});

test("[2.2] a certificate is renewed between 70 and 90 % of its lifetime", () => {
  assert.deepEqual(
    [0, 1].map((fraction) => Math.round(rotateAtWallMs(pair(), fraction))),
    [70 * DAY_MS, 90 * DAY_MS],
  );
});

test("[2.7] the TTL of a certificate is in whole seconds, and infinite without a valid one, as in Go", () => {
  const state = { ...NO_CERTIFICATE, pair: pair({ notAfterWallMs: 10_500 }) };
  assert.deepEqual(
    [ttlSeconds(state, 0), ttlSeconds(state, 10_000), ttlSeconds(state, 10_501), ttlSeconds(NO_CERTIFICATE, 0)],
    [10, 0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  );
  assert.equal(validPair(state, 10_501), undefined);
});

test("[2.7] replaced certificates are counted by age, and each renewal failure once", () => {
  const first = renewed(NO_CERTIFICATE, pair(), 5_000);
  assert.equal(first.rotationAges.count, 0, "a first one replaces nothing");
  const second = renewed(first, pair(), 2 * DAY_MS);
  const { buckets, count, sum } = second.rotationAges;
  assert.deepEqual([count, sum], [1, 2 * 86_400]);
  assert.deepEqual(
    buckets.filter(([, below]) => below > 0).map(([upTo]) => upTo),
    [604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000],
  );
  assert.equal(failedToRenew(failedToRenew(second)).renewErrors, 2);
});

for (const [what, wanted, does] of [
  ["the same names and addresses", {}, true],
  ["fewer names and addresses", { dnsNames: [], ipAddresses: [] }, true],
  ["an additional address", { ipAddresses: ["198.18.0.5", "198.18.0.6"] }, false],
  ["another name", { dnsNames: ["n2"] }, false],
  ["another subject", { subject: { ...subject, commonName: "system:node:n2" } }, false],
  ["another organization", { subject: { ...subject, organizations: ["system:masters"] } }, false],
] as const) {
  test(`a certificate ${does ? "satisfies" : "does not satisfy"} a request for ${what}`, () => {
    assert.equal(satisfies(pair(), { subject, dnsNames: ["n1"], ipAddresses: ["198.18.0.5"], ...wanted }), does);
  });
}

const address = (type: string, text: string) => ({ type, address: text });

test("[2.3] a serving certificate has all names and addresses of the node, sorted and without duplicates", () => {
  const addresses = [
    address("InternalIP", "198.18.0.9"),
    address("ExternalIP", "198.18.0.10"),
    address("InternalIP", "fd00:0::5"),
    address("Hostname", "n1"),
    address("InternalDNS", "n1.internal"),
    address("ExternalDNS", "n1.internal"),
    address("Hostname", "198.18.0.9"),
    address("InternalIP", ""),
  ];
  assert.deepEqual(servingTemplate("n1", addresses, false), {
    subject,
    dnsNames: ["n1", "n1.internal"],
    ipAddresses: ["198.18.0.10", "198.18.0.9", "fd00::5"],
  });
});

test("[2.3] a node without an IP address gets no serving certificate unless the gate is enabled", () => {
  const addresses = [address("Hostname", "n1")];
  assert.equal(servingTemplate("n1", addresses, false), undefined);
  assert.deepEqual(servingTemplate("n1", addresses, true)?.dnsNames, ["n1"]);
  assert.equal(servingTemplate("n1", [], true), undefined);
});

const condition = (type: string) => ({ type, status: "True", reason: "R", message: "m" });
const request = (status: CertificateSigningRequest["status"], uid = "u"): CertificateSigningRequest => ({
  metadata: { name: "csr-1", uid },
  spec: { request: "", signerName: "s" },
  ...(status === undefined ? {} : { status }),
});

for (const [what, object, wanted] of [
  ["pending", request(undefined), { kind: "waiting" }],
  ["approved", request({ conditions: [condition("Approved")] }), { kind: "waiting" }],
  ["issued without approval", request({ certificate: "Yw==" }), { kind: "waiting" }],
  [
    "issued",
    request({ conditions: [condition("Approved")], certificate: "Yw==" }),
    { kind: "issued", certificate: "Yw==" },
  ],
  [
    "denied",
    request({ conditions: [condition("Denied")] }),
    { kind: "refused", why: "certificate signing request is denied, reason: R, message: m" },
  ],
  [
    "failed after approval",
    request({ conditions: [condition("Approved"), condition("Failed")] }),
    { kind: "refused", why: "certificate signing request failed, reason: R, message: m" },
  ],
  ["replaced by one of the same name", request(undefined, "v"), { kind: "refused", why: 'csr "csr-1" changed UIDs' }],
  ["deleted", undefined, { kind: "refused", why: "the csr was deleted" }],
] as const) {
  test(`a request that is ${what} is ${wanted.kind}`, () => assert.deepEqual(requestState(object, "u"), wanted));
}

test("[2.1] the kubeconfig has the Go kubelet's names and the bootstrap kubeconfig's CA", () => {
  const lines = (text: string) => text.split("\n").map((line) => line.trim());
  const cluster = { url: "https://198.19.1.2:6443", authority: { kind: "data", pem: "CA" } } as const;
  const ofData = lines(bootstrappedKubeconfig(cluster, "/pki/kubelet-client-current.pem"));
  assert.ok(ofData.includes('certificate-authority-data: "Q0E="'));
  assert.ok(ofData.includes('client-key: "/pki/kubelet-client-current.pem"'));
  assert.ok(ofData.includes("current-context: default-context"));
  const ofFile = { ...cluster, serverName: "api", authority: { kind: "file", path: "/ca.crt" } } as const;
  const text = lines(bootstrappedKubeconfig(ofFile, "/p.pem"));
  assert.ok(text.includes('certificate-authority: "/ca.crt"') && text.includes('tls-server-name: "api"'));
});
