import assert from "node:assert/strict";
import { createHash, createPublicKey, verify, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { hostKeys } from "../../wire/host/keys.ts";
import { certificatesPem, keyPemOf, pemBlocks, pemText } from "./pem.ts";
import { certificateFacts, REQUEST_LABEL, requestFacts } from "./x509-read.ts";
import { certificateToSign, requestToSign, signed } from "./x509-write.ts";

const keyPem = hostKeys.make();
const { publicKeyDer, algorithm } = hostKeys.describe(keyPem);
const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const names = { dnsNames: ["n1", "n1.example"], ipAddresses: ["198.18.0.5", "fd00::5"] };
const NOT_BEFORE = Date.UTC(2026, 10, 15, 12);
const NOT_AFTER = Date.UTC(2051, 0, 1);

function certificate(): string {
  const content = {
    subject,
    issuer: { commonName: "ca ä", organizations: ["b", "a"] },
    ...names,
    serial: Uint8Array.of(0xff, 1),
    notBeforeWallMs: NOT_BEFORE,
    notAfterWallMs: NOT_AFTER,
    publicKeyDer,
    authorityKeyId: Uint8Array.of(1, 2, 3),
    use: "server",
  } as const;
  const toSign = certificateToSign(content, algorithm);
  return pemText({ label: "CERTIFICATE", bytes: signed(toSign, algorithm, hostKeys.sign(keyPem, toSign)) });
}

test("an encoded certificate is read back by OpenSSL and by certificateFacts", () => {
  const pem = certificate();
  const read = new X509Certificate(pem);
  assert.equal(read.subject, "O=system:nodes\nCN=system:node:n1");
  assert.equal(read.serialNumber, "FF01");
  assert.equal(read.subjectAltName, "DNS:n1, DNS:n1.example, IP Address:198.18.0.5, IP Address:FD00:0:0:0:0:0:0:5");
  assert.deepEqual([read.ca, read.keyUsage], [false, ["1.3.6.1.5.5.7.3.1"]]);
  assert.deepEqual([read.validFromDate.getTime(), read.validToDate.getTime()], [NOT_BEFORE, NOT_AFTER]);
  assert.ok(read.verify(createPublicKey(keyPem)));
  const [facts] = certificateFacts(pem);
  assert.deepEqual(facts, {
    subject,
    issuer: { commonName: "ca ä", organizations: ["a", "b"] },
    ...names,
    notBeforeWallMs: NOT_BEFORE,
    notAfterWallMs: NOT_AFTER,
    publicKeyDer,
  });
});

test("a certificate request has its subject, key, names and a valid signature", () => {
  const toSign = requestToSign({ subject, ...names }, publicKeyDer);
  const signature = hostKeys.sign(keyPem, toSign);
  const pem = pemText({ label: REQUEST_LABEL, bytes: signed(toSign, algorithm, signature) });
  assert.deepEqual(requestFacts(pem), { subject, ...names, publicKeyDer });
  assert.ok(verify("sha256", toSign, createPublicKey(keyPem), signature));
});

/** What Go 1.26 signs (x509.CreateCertificateRequest) for one key: lengths and version, subject, key, attributes. */
const GO = {
  subject: "303031153013060355040a130c73797374656d3a6e6f646573311730150603550403130e73797374656d3a6e6f64653a6e31",
  key: "3059301306072a8648ce3d020106082a8648ce3d03010703420004466d8b8cb19aae01ae55b794415dad5f2f52".concat(
    "07a59f9c5914fbef7914422b853ffc07de2a2a6814f09df3c94e7f070aaf8cf2512dc23a329563d7ab5344a462ab",
  ),
  names:
    "a038303606092a864886f70d01090e3129302730250603551d11041e301c82026e318704c61200058710fd000000000000000000000000000005",
};

for (const [what, wanted, names, head] of [
  ["only a subject", "a000", { dnsNames: [], ipAddresses: [] }, "308192020100"],
  ["names and addresses", GO.names, { dnsNames: ["n1"], ipAddresses: ["198.18.0.5", "fd00::5"] }, "3081ca020100"],
] as const) {
  test(`[2.1] [2.3] a request with ${what} equals Go's byte for byte`, () => {
    const publicKeyDer = Uint8Array.from(Buffer.from(GO.key, "hex"));
    const toSign = requestToSign({ subject, ...names }, publicKeyDer);
    assert.equal(Buffer.from(toSign).toString("hex"), head + GO.subject + GO.key + wanted);
  });
}

test("PEM blocks are read in order between other text, and invalid blocks are skipped", () => {
  const [one, other] = [certificate(), certificate()];
  const text = `first\r\n${one}bag attributes\n${keyPem}-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n${other}`;
  assert.deepEqual(
    pemBlocks(text).map(({ label }) => label),
    ["CERTIFICATE", "EC PRIVATE KEY", "CERTIFICATE"],
  );
  assert.equal(certificatesPem(text), one + other);
  assert.equal(keyPemOf(text.replaceAll("\n", "\r\n")), keyPem);
  assert.equal(keyPemOf(one), undefined);
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  assert.equal(digest(certificatesPem(one)), digest(one));
});
