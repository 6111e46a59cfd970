import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ExecPlugin, execInfo, parseExecCredential } from "./exec-credential.ts";

const V1 = "client.authentication.k8s.io/v1";
const plugin: ExecPlugin = {
  apiVersion: V1,
  command: "get-token",
  args: [],
  env: [],
  installHint: "",
  cluster: undefined,
};
const answer = (status: unknown, more: object = {}) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion: V1, status, ...more });
const parse = (output: string) => parseExecCredential(output, plugin);

describe("[2.8] KUBERNETES_EXEC_INFO", () => {
  test("says that there is no terminal, and names the cluster only to a plugin that asks for it", () => {
    assert.deepEqual(JSON.parse(execInfo(plugin)), {
      kind: "ExecCredential",
      apiVersion: V1,
      spec: { interactive: false },
    });
    const cluster = { server: "https://api:6443", "certificate-authority-data": "Q0E=", config: { audience: "a" } };
    assert.deepEqual(JSON.parse(execInfo({ ...plugin, cluster })), {
      kind: "ExecCredential",
      apiVersion: V1,
      spec: { cluster, interactive: false },
    });
  });
});

describe("[2.8] the output of a credential plugin", () => {
  test("is a token with or without the end of its validity", () => {
    assert.deepEqual(parse(answer({ token: "abc" })), {
      token: "abc",
      certificate: undefined,
      expiresWallMs: undefined,
    });
    const { expiresWallMs } = parse(answer({ token: "abc", expirationTimestamp: "2026-11-19T10:00:00Z" }));
    assert.equal(expiresWallMs, Date.UTC(2026, 10, 19, 10));
  });

  for (const [name, output, message] of [
    ["garbage", "token=secret", "decoding stdout: it is no ExecCredential"],
    ["a list", "[]", "decoding stdout: it is no ExecCredential"],
    ["another kind", JSON.stringify({ kind: "Secret", apiVersion: V1 }), "decoding stdout: it is no ExecCredential"],
    [
      "another version",
      answer({ token: "abc" }, { apiVersion: "client.authentication.k8s.io/v1beta1" }),
      `exec plugin is configured to use API version ${V1}, plugin returned version client.authentication.k8s.io/v1beta1`,
    ],
    ["no status", answer(undefined), "exec plugin didn't return a status field"],
    ["an empty status", answer({}), "exec plugin didn't return a token or cert/key pair"],
    ["empty texts", answer({ token: "" }), "exec plugin didn't return a token or cert/key pair"],
    [
      "a certificate alone",
      answer({ clientCertificateData: "secret" }),
      "exec plugin returned only certificate or key, not both",
    ],
    [
      "text instead of a certificate",
      answer({ clientCertificateData: "secret", clientKeyData: "secret" }),
      "failed parsing client key/certificate: there is no certificate",
    ],
    ["a number as token", answer({ token: 1 }), "decoding stdout: token is no string"],
    [
      "an unreadable time",
      answer({ token: "secret", expirationTimestamp: "soon" }),
      "decoding stdout: the expirationTimestamp is no time",
    ],
  ] as const) {
    test(`that is ${name} is rejected with client-go's text, without the output`, () => {
      assert.throws(() => parse(output), { message });
    });
  }
});
