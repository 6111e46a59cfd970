import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { directoryOf } from "../../../test/support/options.ts";
import { readKubeconfig } from "./kubeconfig.ts";

interface Parts {
  readonly cluster?: string;
  readonly user?: string;
  readonly context?: string;
}

const kubeconfig = ({ cluster = "certificate-authority: ca.crt", user = "{}", context = "c" }: Parts) => `apiVersion: v1
kind: Config
current-context: ${context}
clusters: [{name: k, cluster: {server: "https://10.0.0.1:6443", ${cluster}}}]
users: [{name: u, user: ${user}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
`;

const base64 = (text: string) => Buffer.from(text).toString("base64");

void test("[27.1.3] relative paths of kubelet.conf and the link to the newest certificate are followed", (t) => {
  const user = "{client-certificate: pki/kubelet-client-current.pem, client-key: pki/kubelet-client-current.pem}";
  const directory = directoryOf(t, {
    "kubelet.conf": kubeconfig({ user }),
    "ca.crt": "CA",
    "pki/kubelet-client-1.pem": "CERT AND KEY",
  });
  symlinkSync("kubelet-client-1.pem", join(directory, "pki/kubelet-client-current.pem"));
  assert.deepEqual(readKubeconfig(join(directory, "kubelet.conf")), {
    url: "https://10.0.0.1:6443",
    ca: "CA",
    credentials: { kind: "certificate", certificatePem: "CERT AND KEY", keyPem: "CERT AND KEY" },
  });
});

for (const [name, user, credentials] of [
  [
    "data is preferred to files",
    `{client-certificate-data: ${base64("C")}, client-certificate: none, client-key-data: ${base64("K")}}`,
    { kind: "certificate", certificatePem: "C", keyPem: "K" },
  ],
  ["a token", "{token: abc}", { kind: "token", token: "abc" }],
  ["nothing", "{}", { kind: "anonymous" }],
] as const) {
  void test(`kubeconfig credentials: ${name}`, (t) => {
    const directory = directoryOf(t, { "k.conf": kubeconfig({ user }), "ca.crt": "CA" });
    assert.deepEqual(readKubeconfig(join(directory, "k.conf")).credentials, credentials);
  });
}

void test("a token file is preferred to a token, and is not read by readKubeconfig", (t) => {
  const directory = directoryOf(t, {
    "k.conf": kubeconfig({ user: "{token: abc, tokenFile: token}" }),
    "ca.crt": "CA",
  });
  assert.deepEqual(readKubeconfig(join(directory, "k.conf")).credentials, {
    kind: "tokenFile",
    path: join(directory, "token"),
  });
});

void test("tls-server-name is read from a kubeconfig without an authority", (t) => {
  const directory = directoryOf(t, { "k.conf": kubeconfig({ cluster: "tls-server-name: api.example" }) });
  assert.equal(readKubeconfig(join(directory, "k.conf")).serverName, "api.example");
});

for (const [name, parts, fault] of [
  ["without the context", { context: "other" }, /there is no context "other"/],
  ["without a context at all", { context: '""' }, /no current-context/],
  [
    "with insecure-skip-tls-verify",
    { cluster: "insecure-skip-tls-verify: true" },
    /insecure-skip-tls-verify is not supported/,
  ],
  ["with an exec plugin", { user: "{exec: {command: x}}" }, /the user's exec is not supported/],
  ["with a key and no certificate", { user: `{client-key-data: ${base64("K")}}` }, /belong together/],
  ["with a missing file", { cluster: "certificate-authority: none" }, /open .*none: no such file or directory/],
] as const) {
  void test(`a kubeconfig ${name} is rejected`, (t) => {
    const directory = directoryOf(t, { "k.conf": kubeconfig(parts), "ca.crt": "CA" });
    assert.throws(() => readKubeconfig(join(directory, "k.conf")), fault);
  });
}
