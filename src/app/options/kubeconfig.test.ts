import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { directoryOf } from "../../../test/support/options.ts";
import { openKubeconfig, readKubeconfig } from "./kubeconfig.ts";

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

const V1 = "client.authentication.k8s.io/v1";

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

void test("[2.11] tls-server-name is read from a kubeconfig without an authority", (t) => {
  const directory = directoryOf(t, { "k.conf": kubeconfig({ cluster: "tls-server-name: api.example" }) });
  assert.equal(readKubeconfig(join(directory, "k.conf")).serverName, "api.example");
});

void test("[2.8] an exec plugin is read with its environment and, where it asks for it, the cluster", (t) => {
  const exec = (more: string) =>
    `{exec: {command: bin/get-token, apiVersion: ${V1}beta1, args: [--role, node], env: [{name: A, value: b}], ${more}}}`;
  const cluster =
    "certificate-authority: ca.crt, proxy-url: http://proxy:3128, tls-server-name: api.example, " +
    "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: nodes, ttl: [3600]}}]";
  const directory = directoryOf(t, {
    "plain.conf": kubeconfig({ user: exec("installHint: ' Install it. '") }),
    "cluster.conf": kubeconfig({ user: exec("provideClusterInfo: true"), cluster }),
    "ca.crt": "CA",
  });
  const plugin = {
    apiVersion: `${V1}beta1`,
    command: join(directory, "bin/get-token"),
    args: ["--role", "node"],
    env: [{ name: "A", value: "b" }],
    installHint: "Install it.",
    cluster: undefined,
  };
  assert.deepEqual(readKubeconfig(join(directory, "plain.conf")).credentials, { kind: "exec", plugin });
  assert.deepEqual(readKubeconfig(join(directory, "cluster.conf")).credentials, {
    kind: "exec",
    plugin: {
      ...plugin,
      installHint: "",
      cluster: {
        server: "https://10.0.0.1:6443",
        "tls-server-name": "api.example",
        "certificate-authority-data": base64("CA"),
        "proxy-url": "http://proxy:3128",
        config: { audience: "nodes", ttl: [3600] },
      },
    },
  });
});

void test("[2.10] proxy-url is preferred to HTTPS_PROXY, which NO_PROXY limits", (t) => {
  const directory = directoryOf(t, {
    "own.conf": kubeconfig({ cluster: "proxy-url: http://own:3128" }),
    "k.conf": kubeconfig({}),
    "ca.crt": "CA",
  });
  const proxyOf = (name: string, environment: Readonly<Record<string, string>>) =>
    openKubeconfig(join(directory, name), environment).connection.proxy?.url.href;
  assert.equal(proxyOf("own.conf", { HTTPS_PROXY: "other:3128", NO_PROXY: "*" }), "http://own:3128/");
  assert.equal(proxyOf("k.conf", { HTTPS_PROXY: "other:3128" }), "http://other:3128/");
  assert.equal(proxyOf("k.conf", { HTTPS_PROXY: "other:3128", NO_PROXY: "10.0.0.0/8" }), undefined);
  assert.throws(() => proxyOf("k.conf", { HTTPS_PROXY: "ftp://p" }), /HTTPS_PROXY: unsupported scheme/);
});

void test("[2.12] insecure-skip-tls-verify is read from a kubeconfig without an authority", (t) => {
  const directory = directoryOf(t, { "k.conf": kubeconfig({ cluster: "insecure-skip-tls-verify: true" }) });
  assert.equal(readKubeconfig(join(directory, "k.conf")).isInsecure, true);
});

for (const [name, parts, fault] of [
  ["without the context", { context: "other" }, /there is no context "other"/],
  ["without a context at all", { context: '""' }, /no current-context/],
  [
    "with insecure-skip-tls-verify and an authority",
    { cluster: "insecure-skip-tls-verify: true, certificate-authority: ca.crt" },
    /specifying a root certificates file with the insecure flag is not allowed/,
  ],
  ["with a proxy that is no HTTP proxy", { cluster: "proxy-url: ftp://p" }, /proxy-url: unsupported scheme, must be/],
  ["with a proxy that is no URL", { cluster: "proxy-url: 'http://user:pass/word@p'" }, /proxy-url: it is no URL$/],
  [
    "with an exec plugin whose variable is no string",
    { user: `{exec: {command: x, apiVersion: ${V1}, interactiveMode: Never, env: [{name: NUMBER, value: 1}]}}` },
    /the value of NUMBER of the exec plugin is no string/,
  ],
  ["with an auth-provider", { user: "{auth-provider: {name: gcp}}" }, /the user's auth-provider is not supported/],
  ["with an exec plugin without a command", { user: `{exec: {apiVersion: ${V1}}}` }, /the exec plugin has no command/],
  ["with an exec plugin of an unknown version", { user: "{exec: {command: x, apiVersion: v1}}" }, /apiVersion must be/],
  [
    "with an exec plugin of v1 without an interactiveMode",
    { user: `{exec: {command: x, apiVersion: ${V1}}}` },
    /interactiveMode must be Never or IfAvailable, found ""/,
  ],
  [
    "with an exec plugin that must be asked",
    { user: `{exec: {command: x, apiVersion: ${V1}, interactiveMode: Always}}` },
    /exec plugin cannot support interactive mode/,
  ],
  [
    "with an exec plugin whose variable has no name",
    { user: `{exec: {command: x, apiVersion: ${V1}, interactiveMode: Never, env: [{value: y}]}}` },
    /a variable of the exec plugin has no name/,
  ],
  ["with a key and no certificate", { user: `{client-key-data: ${base64("K")}}` }, /belong together/],
  ["with a missing file", { cluster: "certificate-authority: none" }, /open .*none: no such file or directory/],
] as const) {
  void test(`a kubeconfig ${name} is rejected`, (t) => {
    const directory = directoryOf(t, { "k.conf": kubeconfig(parts), "ca.crt": "CA" });
    assert.throws(() => readKubeconfig(join(directory, "k.conf")), fault);
  });
}
