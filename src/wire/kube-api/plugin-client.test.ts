/** A client with a credential plugin, against a TLS server that says how each request authenticated. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { AS_AUTHORITY, FOR_CLIENTS, FOR_SERVERS, TestCertificates } from "../../../test/support/test-certificates.ts";
import { nodes } from "../../api/resources.ts";
import type { ExecPlugin, PluginCredentials } from "../../domain/identity/exec-credential.ts";
import { hostClock } from "../host/clock.ts";
import { hostRandom } from "../host/random.ts";
import { createKubeApi } from "./client.ts";
import { PluginCredentialSource } from "./plugin-credentials.ts";

const never = new AbortController().signal;
const plugin: ExecPlugin = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "get-token",
  args: [],
  env: [],
  installHint: "",
  cluster: undefined,
};

/** Answers with the user: the common name of the client certificate and the Authorization header. */
async function stage(t: TestContext, run: () => Promise<PluginCredentials>) {
  await using certificates = await TestCertificates.in();
  const authority = await certificates.selfSigned({ subject: "/CN=ca", extensions: [AS_AUTHORITY] });
  const extensions = [FOR_SERVERS, "subjectAltName=IP:127.0.0.1"];
  const serving = await certificates.issue(authority, { subject: "/CN=server", extensions });
  const rejected = new Set<string>();
  const server = createSecureServer({
    cert: serving.certificatePem,
    key: serving.keyPem,
    ca: authority.certificatePem,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on("request", (request, response) => {
    const socket = request.stream.session?.socket as TLSSocket | undefined;
    const user = socket?.getPeerCertificate().subject?.CN ?? "nobody";
    const { authorization = "" } = request.headers;
    const isRejected = rejected.has(authorization);
    response.writeHead(isRejected ? 401 : 200, { "content-type": "application/json" });
    const name = `${String(user)} ${authorization}`.trim();
    response.end(JSON.stringify(isRejected ? { kind: "Status", code: 401 } : { kind: "Node", metadata: { name } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const issue = async (name: string) =>
    certificates.issue(authority, { subject: `/CN=${name}`, extensions: [FOR_CLIENTS] });
  const issued = new Map(
    await Promise.all(["one", "two", "rotated"].map(async (name) => [name, await issue(name)] as const)),
  );
  const certificateOf = (name: string) => issued.get(name) ?? assert.fail(name);
  const source = new PluginCredentialSource(plugin, {
    clock: hostClock,
    random: hostRandom,
    log: { info: () => {}, error: () => {} },
    run,
  });
  const client = createKubeApi({
    connection: {
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ca: authority.certificatePem,
      credentials: { kind: "exec", plugin },
    },
    source,
    clock: hostClock,
    random: hostRandom,
    requestLimitMs: 2_000,
  });
  t.after(() => client.close());
  const whoAmI = async () => (await client.get(nodes, { name: "n1" }, never)).metadata?.name;
  return { client, source, rejected, certificateOf, whoAmI };
}

const token = (name: string): PluginCredentials => ({ token: name, certificate: undefined, expiresWallMs: undefined });

describe("[2.8] a client with a credential plugin", () => {
  test("presents the newest certificate on a new connection, and the token beside it", async (t) => {
    const results: PluginCredentials[] = [];
    const { certificateOf, whoAmI } = await stage(t, () => Promise.resolve(results.shift() ?? assert.fail("no more")));
    const { certificatePem, keyPem } = certificateOf("one");
    results.push({ token: "t1", certificate: { certificatePem, keyPem }, expiresWallMs: hostClock.wallMs() + 300 });
    results.push({ token: undefined, certificate: certificateOf("two"), expiresWallMs: undefined });
    assert.equal(await whoAmI(), "one Bearer t1");
    while ((await whoAmI()) !== "two") {
      // The first credentials expire after 300 ms.
    }
  });

  test("runs the plugin again after a 401, and repeats the request", async (t) => {
    const results = [token("t1"), token("t2")];
    const { rejected, source, whoAmI } = await stage(t, () =>
      Promise.resolve(results.shift() ?? assert.fail("no more")),
    );
    assert.equal(await whoAmI(), "nobody Bearer t1");
    rejected.add("Bearer t1");
    const first = await source.credentials();
    await new Promise<void>((resolve) => void hostClock.after(1_000, resolve));
    assert.deepEqual(await Promise.all([whoAmI(), whoAmI()]), ["nobody Bearer t2", "nobody Bearer t2"]);
    assert.equal(await source.renew(first), true, "the rejection of earlier credentials runs nothing");
  });

  test("does not wait longer for a plugin that hangs after a 401 than the request may take", async (t) => {
    let runs = 0;
    const { rejected, whoAmI } = await stage(t, () => {
      runs += 1;
      return runs === 1 ? Promise.resolve(token("t1")) : new Promise(() => {});
    });
    await whoAmI();
    rejected.add("Bearer t1");
    await new Promise<void>((resolve) => void hostClock.after(1_000, resolve));
    const begun = hostClock.monotonicMs();
    await assert.rejects(whoAmI());
    const tookMs = hostClock.monotonicMs() - begun;
    assert.ok(tookMs < 4_000, `${tookMs} ms`);
    rejected.clear();
    assert.equal(await whoAmI(), "nobody Bearer t1", "the run does not hold up other requests");
  });

  test("keeps a certificate that replaced the plugin's credentials while the plugin ran", async (t) => {
    const { promise, resolve } = Promise.withResolvers<PluginCredentials>();
    const { client, certificateOf, whoAmI } = await stage(t, () => promise);
    const waiting = whoAmI();
    await Promise.resolve();
    client.replaceCredentials({ kind: "certificate", ...certificateOf("rotated") });
    assert.equal(await whoAmI(), "rotated");
    resolve(token("late"));
    await waiting;
    assert.equal(await whoAmI(), "rotated");
  });
});
