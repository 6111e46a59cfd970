/**
 * A node's identity on real components: a first certificate from a bootstrap token, renewals while pods run, and both
 * kubelets on the same files.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { lstat, mkdir, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import type { CertificateSigningRequest } from "../../src/api/gen/certificates-v1.ts";
import { requestName } from "../../src/controllers/identity/pending-key.ts";
import { nodeSubject } from "../../src/domain/identity/certificate-pair.ts";
import { certificateFacts, requestFacts } from "../../src/domain/identity/x509-read.ts";
import { hostKeys } from "../../src/wire/host/keys.ts";
import { pki } from "../cluster/certificates.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import { AGNHOST_IMAGE } from "../cluster/images.ts";
import { buildParts } from "../cluster/parts.ts";
import { waitUntil } from "../cluster/wait.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { scrape } from "./node-metrics/scrape.ts";
import { running, WAYS, type Way } from "./node-streams/world.ts";

/** Long enough for a busy machine to renew in the last tenth of the lifetime, short enough for the test to wait. */
const SIGNING_SECONDS = 32;
const TOKEN = { id: "abcdef", secret: "0123456789abcdef" };
const GROUP = "system:bootstrappers:kubeadm:default-node-token";
const CERTIFICATES = "system:certificates.k8s.io:certificatesigningrequests";
const BINDINGS = [
  ["kubeadm:kubelet-bootstrap", "system:node-bootstrapper", GROUP],
  ["kubeadm:node-autoapprove-bootstrap", `${CERTIFICATES}:nodeclient`, GROUP],
  ["kubeadm:node-autoapprove-certificate-rotation", `${CERTIFICATES}:selfnodeclient`, "system:nodes"],
] as const;

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;

before(async () => {
  cluster = await startCluster({
    controlPlane: "full",
    signingSeconds: SIGNING_SECONDS,
    nodes: [{ agent: "deckhand" }],
  });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

const KUBELET = "/var/lib/kubelet";
const directory = () => node.inside(`${KUBELET}/pki`);
const inPki = (name: string) => join(directory(), name);
const bootstrapPath = () => join(node.directory, "bootstrap-kubelet.conf");

/** The configuration and flags with which kubeadm's systemd drop-in starts a kubelet. */
const joining = () => ({
  // The shorter the lease, the more often the node renews it.
  configuration: { rotateCertificates: true, serverTLSBootstrap: true, nodeLeaseDurationSeconds: 4 },
  flags: [`--kubeconfig=${KUBELET}/kubelet.conf`, `--bootstrap-kubeconfig=${bootstrapPath()}`],
});

async function writeBootstrapKubeconfig(): Promise<void> {
  const authority = await readFile(pki(cluster.layout, "ca.crt"));
  const text = `apiVersion: v1
kind: Config
current-context: tls-bootstrap-token-user@kubernetes
clusters:
- name: kubernetes
  cluster: {server: "${cluster.api.url}", certificate-authority-data: ${authority.toString("base64")}}
contexts:
- name: tls-bootstrap-token-user@kubernetes
  context: {cluster: kubernetes, user: tls-bootstrap-token-user}
users:
- name: tls-bootstrap-token-user
  user: {token: ${TOKEN.id}.${TOKEN.secret}}
`;
  await writeFile(bootstrapPath(), text, { mode: 0o600 });
}

async function makeToken(): Promise<void> {
  await cluster.kubectl(
    "create",
    "secret",
    "generic",
    `bootstrap-token-${TOKEN.id}`,
    "--namespace=kube-system",
    "--type=bootstrap.kubernetes.io/token",
    `--from-literal=token-id=${TOKEN.id}`,
    `--from-literal=token-secret=${TOKEN.secret}`,
    "--from-literal=usage-bootstrap-authentication=true",
    `--from-literal=auth-extra-groups=${GROUP}`,
  );
}

async function bind(bindings: readonly (typeof BINDINGS)[number][]): Promise<void> {
  for (const [name, role, group] of bindings)
    await cluster.kubectl("create", "clusterrolebinding", name, `--clusterrole=${role}`, `--group=${group}`);
}

async function requests(): Promise<readonly CertificateSigningRequest[]> {
  const answer = await cluster.kubectl("get", "csr", "-o", "json");
  return (JSON.parse(answer) as { items: readonly CertificateSigningRequest[] }).items;
}

const bySigner = async (signer: string) =>
  (await requests()).filter(({ spec }) => spec.signerName === `kubernetes.io/${signer}`);

/** The requests for first certificates; the node requests renewals as itself. */
const askedWithToken = async () =>
  (await requests()).filter(({ spec }) => spec.username === `system:bootstrap:${TOKEN.id}`);

const requestText = ({ spec }: CertificateSigningRequest) => Buffer.from(spec.request, "base64").toString();

async function renewedLease(): Promise<string> {
  return cluster.kubectl("get", "lease", "-n", "kube-node-lease", node.name, "-o", "jsonpath={.spec.renewTime}");
}

/** Waits until the node, as itself and now, renews its lease. */
async function waitForHeartbeat(what: string): Promise<void> {
  const beforeIt = await renewedLease();
  await waitUntil(`a heartbeat ${what}`, 60_000, async () => (await renewedLease()) !== beforeIt, 500);
}

/** The certificate file to which the link of a purpose points. */
const currentFile = (purpose: string) => readlink(inPki(`kubelet-${purpose}-current.pem`));

/** The node's serving certificate: its names, its issuer and its fingerprint. */
async function served(): Promise<string> {
  const ask = `openssl s_client -connect ${node.address}:10250 </dev/null 2>/dev/null`;
  const read = "openssl x509 -noout -subject -issuer -fingerprint -sha256 -ext subjectAltName";
  const { stdout } = await node.run("sh", "-c", `${ask} | ${read}`);
  return stdout;
}

describe("a node's identity", () => {
  test("[2.4] [27.1.6] without an operator's certificate the agent creates a self-signed one for the node's name and addresses, and keeps it", async () => {
    await waitUntil("the self-signed pair", 30_000, async () => (await readdir(directory())).includes("kubelet.crt"));
    const [crt, key] = [inPki("kubelet.crt"), inPki("kubelet.key")];
    assert.deepEqual([(await lstat(crt)).mode & 0o777, (await lstat(key)).mode & 0o777], [0o644, 0o600]);
    // Verified as by an operator who pins it: the file is its own CA, and clients use the node's name and address.
    const name = ["-verify_hostname", node.name];
    const address = ["-verify_ip", node.address];
    for (const wanted of [name, address]) {
      await command("openssl", ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", crt, ...wanted, crt]);
    }
    const [made] = certificateFacts(await readFile(crt, "utf8"));
    const print = await command("openssl", ["x509", "-in", crt, "-noout", "-fingerprint", "-sha256"]);
    await waitUntil("it to be served", 20_000, async () => (await served()).includes(print.trim()), 200);
    // The Go kubelet names only the host; Deckhand adds the addresses.
    assert.deepEqual([made?.dnsNames, made?.ipAddresses], [[node.name], [node.address]]);
  });

  test("[2.1] an unknown bootstrap token leads only to another try, and the agent keeps running", async () => {
    await writeBootstrapKubeconfig();
    await cluster.changeAgent(node.name, "deckhand", joining());
    await waitUntil("the pending key", 20_000, async () =>
      (await readdir(directory())).includes("kubelet-client.key.tmp"),
    );
    const { logFile } = cluster.component(`kubelet@${node.name}`);
    await waitUntil("a refusal", 20_000, async () =>
      /could not be had.*Unauthorized/.test(await readFile(logFile, "utf8")),
    );
    assert.ok(await cluster.component(`kubelet@${node.name}`).isAlive());
    await makeToken();
    await bind(BINDINGS.slice(0, 1));
    await waitUntil("the request", 60_000, async () => (await bySigner("kube-apiserver-client-kubelet")).length === 1);
  });

  test("[27.4.7] [27.1.7] an agent restarted while its CSR is pending continues with the same CSR", async () => {
    const [asked] = await bySigner("kube-apiserver-client-kubelet");
    const agent = cluster.component(`kubelet@${node.name}`);
    await agent.restart();
    await waitUntil("it to find its request", 20_000, async () =>
      /already exists, reusing/.test(await readFile(agent.logFile, "utf8")),
    );
    const names = (await bySigner("kube-apiserver-client-kubelet")).map(({ metadata }) => metadata?.name);
    assert.deepEqual(names, [asked?.metadata?.name]);
  });

  test("[27.1.7] [27.4.7] the first CSR has the name that the Go kubelet computes from the same key", async () => {
    const golden = join(node.directory, "golden");
    await mkdir(golden);
    const parts = await buildParts();
    // Without rotation the Go kubelet waits for its first request before it does anything else; nothing approves
    // requests yet.
    const command = [
      parts.path("kubelet"),
      `--config=${join(node.directory, "kubelet.json")}`,
      "--rotate-certificates=false",
      "--hostname-override=golden",
      `--root-dir=${golden}/root`,
      `--cert-dir=${golden}/pki`,
      `--kubeconfig=${golden}/kubelet.conf`,
      `--bootstrap-kubeconfig=${bootstrapPath()}`,
    ];
    const untilReported = `"$@" & pid=$!; while [ ! -e ${golden}/stop ]; do sleep 0.1; done; kill $pid; wait $pid`;
    const ended = node.run("timeout", "60", "sh", "-c", untilReported, "sh", ...command);
    const isGolden = ({ spec }: CertificateSigningRequest) =>
      requestFacts(Buffer.from(spec.request, "base64").toString())?.subject.commonName === "system:node:golden";
    await waitUntil("the Go kubelet's request", 50_000, async () => (await requests()).some(isGolden));
    await writeFile(join(golden, "stop"), "");
    await ended;
    const keyPem = await readFile(join(golden, "pki/kubelet-client.key.tmp"), "utf8");
    const usages = ["digital signature", "client auth"];
    const name = requestName(hostKeys.describe(keyPem).publicKeyDer, nodeSubject("golden"), usages);
    assert.deepEqual(
      (await requests()).filter(isGolden).map(({ metadata }) => metadata?.name),
      [name],
    );
    await cluster.kubectl("delete", "csr", name);
  });

  test("[2.1] [27.1.4] [27.1.7] the node gets its certificate once requests with the token are approved, and the kubeconfig points to it", async () => {
    const madeFirst = await readFile(inPki("kubelet.crt"), "utf8");
    await bind(BINDINGS.slice(1));
    await waitUntil("the first certificate", 60_000, async () => (await currentFile("client")) !== "");
    await waitForHeartbeat("with the first certificate");

    const [first, ...more] = await askedWithToken();
    assert.deepEqual(first?.spec.usages, ["digital signature", "client auth"]);
    assert.match(first?.metadata?.name ?? "", /^node-csr-[\w-]{43}$/);
    assert.deepEqual(more, [], "tries that were refused left no request behind");
    const checked = await command("openssl", ["req", "-verify", "-noout", "-subject"], {
      input: requestText(first ?? assert.fail()),
    });
    assert.match(checked, /O ?= ?system:nodes, CN ?= ?system:node:/);

    const link = await currentFile("client");
    assert.match(link, /^\/var\/lib\/kubelet\/pki\/kubelet-client-\d{4}(-\d\d){5}\.pem$/);
    assert.equal((await lstat(node.inside(link))).mode & 0o777, 0o600);
    const pair = await readFile(node.inside(link), "utf8");
    assert.match(pair, /^-----BEGIN CERTIFICATE-----[^]*-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----/);
    const names = await readdir(directory());
    assert.ok(!names.includes("kubelet-client.key.tmp"), "the pending key is gone");
    assert.equal(await readFile(inPki("kubelet.crt"), "utf8"), madeFirst);
  });

  test("[2.3] [2.7] a denied serving certificate is counted and requested again, and the node serves what it has", async () => {
    const denied = await bySigner("kubelet-serving");
    for (const { metadata } of denied) await cluster.kubectl("certificate", "deny", metadata?.name ?? "");
    const names = new Set(denied.map(({ metadata }) => metadata?.name));
    assert.ok(names.size > 0);
    const others = async () =>
      (await bySigner("kubelet-serving")).filter(({ metadata }) => !names.has(metadata?.name ?? ""));
    await waitUntil("another request", 60_000, async () => (await others()).length > 0);
    assert.match(await served(), new RegExp(`issuer=CN ?= ?${node.name}-ca@`));
    const errors = (await scrape(cluster, node)).get("kubelet_server_expiration_renew_errors")?.samples[0]?.value;
    assert.ok((errors ?? 0) >= 1, `${errors} errors`);
    for (const name of names) await cluster.kubectl("delete", "csr", name ?? "");
  });

  test("[2.3] [27.1.5] the agent requests a serving certificate for the node's addresses, and uses it once it is approved", async () => {
    const [asked] = await bySigner("kubelet-serving");
    assert.deepEqual(asked?.spec.usages, ["digital signature", "server auth"]);
    assert.equal(asked.spec.username, `system:node:${node.name}`);
    const request = await command("openssl", ["req", "-verify", "-noout", "-text"], { input: requestText(asked) });
    assert.match(request, new RegExp(`DNS:${node.name}, IP Address:${node.address}\\n`));
    // The Go kubelet serves nothing until then, and kubectl logs fails against it.
    assert.match(await served(), new RegExp(`issuer=CN ?= ?${node.name}-ca@`));
    await cluster.kubectl("certificate", "approve", asked.metadata?.name ?? "");
    await waitUntil("the serving certificate", 20_000, async () => (await currentFile("server")) !== "");
    const [facts] = certificateFacts(await readFile(node.inside(await currentFile("server")), "utf8"));
    assert.deepEqual([facts?.dnsNames, facts?.ipAddresses], [[node.name], [node.address]]);
    const bySignature = new RegExp(
      `subject=O ?= ?system:nodes, CN ?= ?system:node:${node.name}\\nissuer=CN ?= ?${cluster.layout.name}-ca\\n`,
    );
    await waitUntil("it to be served", 30_000, async () => bySignature.test(await served()), 200);
  });

  test("[27.1.4] [27.1.3] the Go kubelet continues with Deckhand's files, and Deckhand with the Go kubelet's, while a pod keeps running", async () => {
    await pods.create(podOn(node.name, "lasting", { containers: [SLEEPER] }));
    await pods.running("lasting");
    const container = () => pods.latest("lasting")?.status?.containerStatuses?.[0]?.containerID;
    const began = container();
    await cluster.changeAgent(node.name, "go", joining());
    await waitForHeartbeat("of the Go kubelet's, with our certificate");
    assert.equal((await askedWithToken()).length, 1, "it had no reason to bootstrap again");

    const ours: unknown = parse(await readFile(node.inside(`${KUBELET}/kubelet.conf`), "utf8"));
    await rm(node.inside(`${KUBELET}/kubelet.conf`));
    for (const name of await readdir(directory())) if (name.startsWith("kubelet-client")) await rm(inPki(name));
    await cluster.changeAgent(node.name, "go", joining());
    await waitUntil("the Go kubelet's certificate", 60_000, async () => (await currentFile("client")) !== "");
    const theirs: unknown = parse(await readFile(node.inside(`${KUBELET}/kubelet.conf`), "utf8"));
    assert.deepEqual(ours, theirs, "both write the same kubeconfig");

    await cluster.changeAgent(node.name, "deckhand", joining());
    await waitForHeartbeat("of ours, with the Go kubelet's certificate");
    assert.equal((await askedWithToken()).length, 2, "once by each of the two");
    assert.equal(container(), began, "its container is the same");
  });

  test("[2.2] the client certificate is renewed after 70 % of its lifetime in the same process, and later pods run", async () => {
    const agent = cluster.component(`kubelet@${node.name}`);
    const [{ pid }, old] = [agent, await currentFile("client")];
    const [before] = certificateFacts(await readFile(node.inside(old), "utf8"));
    await waitUntil("another certificate", 60_000, async () => (await currentFile("client")) !== old, 100);
    const now = Date.now();
    assert.ok(before !== undefined);
    const share = (now - before.notBeforeWallMs) / (before.notAfterWallMs - before.notBeforeWallMs);
    assert.ok(share > 0.69 && share < 1, `it was renewed at ${Math.round(share * 100)} % of its life`);
    const [after] = certificateFacts(await readFile(node.inside(await currentFile("client")), "utf8"));
    assert.ok(after !== undefined && after.notAfterWallMs > before.notAfterWallMs);
    const renewal = (await bySigner("kube-apiserver-client-kubelet")).find(
      ({ spec, metadata }) =>
        spec.username === `system:node:${node.name}` && Date.parse(metadata?.creationTimestamp ?? "") > now - 20_000,
    );
    assert.match(renewal?.metadata?.name ?? "", /^csr-/);
    await waitUntil("the end of the old one", 60_000, async () => Date.now() > before.notAfterWallMs + 1000);
    await waitForHeartbeat("with the new certificate");
    await pods.create(podOn(node.name, "later", { containers: [SLEEPER] }));
    await pods.running("later");
    assert.ok((await agent.isAlive()) && agent.pid === pid, "no new start");
  });

  test("[2.2] [2.3] open streams carry bytes both ways after the client and the serving certificate were renewed", async () => {
    const agent = cluster.component(`kubelet@${node.name}`);
    const { pid } = agent;
    await pods.create(
      podOn(node.name, "serve", { containers: [{ name: "main", image: AGNHOST_IMAGE, args: ["netexec"] }] }),
    );
    await pods.running("serve");
    const sessions = await Promise.all(WAYS.map((way) => openSession(way)));
    for (const session of sessions) await session.speaks("before");

    const [oldClient, oldServer, oldServed] = [
      await currentFile("client"),
      await currentFile("server"),
      await served(),
    ];
    const facts = async (path: string) => certificateFacts(await readFile(node.inside(path), "utf8"))[0];
    const ends = [await facts(oldClient), await facts(oldServer)].map((one) => one?.notAfterWallMs ?? 0);
    await waitUntil(
      "another client's certificate",
      60_000,
      async () => (await currentFile("client")) !== oldClient,
      200,
    );
    // Each request must be approved.
    const renewed = async () => {
      for (const { metadata, status } of await bySigner("kubelet-serving")) {
        if (status?.conditions === undefined) await cluster.kubectl("certificate", "approve", metadata?.name ?? "");
      }
      return (await currentFile("server")) !== oldServer && (await served()) !== oldServed;
    };
    await waitUntil("another serving certificate", 60_000, renewed, 500);
    await waitUntil("the end of the old ones", 60_000, async () => Date.now() > Math.max(...ends) + 1_000, 200);

    for (const session of sessions) await session.speaks("after");
    for (const session of sessions) await session.end();
    assert.ok((await agent.isAlive()) && agent.pid === pid, "no new start");
  });

  test("[2.7] the node's metrics have the remaining lifetime of both certificates, and the lifetime of replaced ones", async () => {
    let figures = await scrape(cluster, node);
    const valueOf = (name: string, end = "") =>
      figures.get(name)?.samples.find((sample) => sample.name === `${name}${end}`)?.value ?? assert.fail(name);
    // The metrics show a certificate once its file is synced, which takes seconds on a busy disk.
    const areShown = async () => {
      figures = await scrape(cluster, node);
      const differences = ["client", "server"].map(async (purpose) => {
        const [facts] = certificateFacts(await readFile(node.inside(await currentFile(purpose)), "utf8"));
        const leftSeconds = ((facts?.notAfterWallMs ?? Number.NaN) - Date.now()) / 1000;
        return Math.abs(valueOf(`kubelet_certificate_manager_${purpose}_ttl_seconds`) - leftSeconds);
      });
      return (await Promise.all(differences)).every((seconds) => seconds < 10);
    };
    await waitUntil("the rest of life of both certificates", 30_000, areShown, 1_000);
    assert.ok(valueOf("kubelet_certificate_manager_server_rotation_seconds", "_count") > 0, "one was replaced");
    assert.equal(valueOf("kubelet_certificate_manager_client_expiration_renew_errors"), 0);
  });

  test("[2.1] [2.3] agent that was down until both certificates expired requests new ones, and its pods keep running", async () => {
    const agent = cluster.component(`kubelet@${node.name}`);
    await agent.end();
    const container = () => pods.latest("lasting")?.status?.containerStatuses?.[0]?.containerID;
    const [began, requested] = [container(), (await askedWithToken()).length];
    const old = await Promise.all(["client", "server"].map(currentFile));
    const facts = await Promise.all(old.map((path) => readFile(node.inside(path), "utf8")));
    const ends = facts.map((text) => certificateFacts(text)[0]?.notAfterWallMs ?? assert.fail("a certificate"));
    await waitUntil("the end of both", 60_000, async () => Date.now() > Math.max(...ends) + 1_000, 200);
    await agent.restart();
    await waitForHeartbeat("with a new certificate");
    assert.equal((await askedWithToken()).length, requested + 1, "one request with the bootstrap token");
    const serves = async () => {
      for (const { metadata, status } of await bySigner("kubelet-serving")) {
        if (status?.conditions === undefined) await cluster.kubectl("certificate", "approve", metadata?.name ?? "");
      }
      return (await currentFile("server")) !== old[1];
    };
    await waitUntil("a new serving certificate", 60_000, serves, 500);
    await waitUntil("logs of a pod", 30_000, async () => (await cluster.kubectl("logs", "lasting")) === "", 500);
    assert.equal(container(), began, "its container is the same");
    assert.equal(pods.latest("lasting")?.status?.containerStatuses?.[0]?.restartCount, 0);
  });

  test("[2.3] agent requests a serving certificate for the node's new address", async () => {
    const address = node.address.replace(/\d+$/, "111");
    const added = await node.run("ip", "addr", "add", `${address}/${cluster.layout.prefixLength}`, "dev", "eth0");
    assert.equal(added.code, 0, added.stderr);
    const { configuration, flags } = joining();
    await cluster.changeAgent(node.name, "deckhand", { configuration, flags: [...flags, `--node-ip=${address}`] });
    const addresses = (request: CertificateSigningRequest) => requestFacts(requestText(request))?.ipAddresses ?? [];
    await waitUntil("a request for the new address", 60_000, async () =>
      (await bySigner("kubelet-serving")).some((request) => addresses(request).join() === address),
    );
  });
});

/** An exec session that echoes its input, and one connection through a forwarded port. */
async function openSession(way: Way) {
  const [file, ...first] = cluster.kubectlCommand;
  const start = (...args: readonly string[]) => running(file, [...first, ...args], way.env);
  const exec = start("exec", "-i", "lasting", "--", "cat");
  const forward = start("port-forward", "pod/serve", ":8080", "--address=127.0.0.1");
  await waitUntil("its port", 30_000, async () => /Forwarding from 127.0.0.1:\d+/.test(forward.output()));
  const socket = connect(Number(/127.0.0.1:(\d+)/.exec(forward.output())?.[1]), "127.0.0.1");
  await once(socket, "connect");
  let heard = "";
  socket.on("data", (chunk: Buffer) => {
    heard += chunk.toString("latin1");
  });
  return {
    speaks: async (word: string) => {
      exec.child.stdin?.write(`${word} by ${way.name}\n`);
      await waitUntil("its echo", 30_000, async () => exec.output().includes(`${word} by ${way.name}\n`));
      socket.write(`GET /echo?msg=${word}-by-${way.name} HTTP/1.1\r\nHost: pod\r\n\r\n`);
      await waitUntil("its answer", 30_000, async () => heard.includes(`${word}-by-${way.name}`));
    },
    end: async () => {
      socket.destroy();
      forward.child.kill("SIGTERM");
      exec.child.stdin?.end();
      assert.equal(await exec.code, 0, exec.output());
      await forward.code;
    },
  };
}
