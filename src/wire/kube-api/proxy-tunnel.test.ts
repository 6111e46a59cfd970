import assert from "node:assert/strict";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { pause } from "../../../test/cluster/wait.ts";
import { type ConnectProxyOptions, connectProxy } from "../../../test/support/connect-proxy.ts";
import { AS_AUTHORITY, FOR_SERVERS, TestCertificates } from "../../../test/support/test-certificates.ts";
import { nodes } from "../../api/resources.ts";
import { hostClock } from "../host/clock.ts";
import { hostRandom } from "../host/random.ts";
import { createKubeApi } from "./client.ts";
import type { Connection } from "./connection.ts";
import { oneShotRequest } from "./one-shot-request.ts";
import { openTunnel } from "./proxy-tunnel.ts";

const never = new AbortController().signal;

const portOf = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port;

async function proxy(t: TestContext, options: Omit<ConnectProxyOptions, "onConnect"> = {}) {
  const asked: { readonly target: string; readonly login: string | undefined }[] = [];
  const onConnect = (target: string, login: string | undefined) => void asked.push({ target, login });
  const through = await connectProxy({ onConnect, ...options });
  t.after(() => through.close());
  return { ...through, asked };
}

const client = (t: TestContext, connection: Connection) => {
  const made = createKubeApi({ connection, clock: hostClock, random: hostRandom });
  t.after(() => made.close());
  return made;
};

const ANONYMOUS = { kind: "anonymous" } as const;
/** A name that only the proxy can connect to. */
const URL_BEHIND = "https://api.shop.example:6443";

async function apiServer(t: TestContext) {
  await using certificates = await TestCertificates.in();
  const authority = await certificates.selfSigned({ subject: "/CN=ca", extensions: [AS_AUTHORITY] });
  const extensions = [FOR_SERVERS, "subjectAltName=IP:127.0.0.1,DNS:api.shop.example"];
  const serving = await certificates.issue(authority, { subject: "/CN=server", extensions });
  const server = createSecureServer(
    { cert: serving.certificatePem, key: serving.keyPem, allowHTTP1: true },
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ kind: "Node", apiVersion: "v1", metadata: { name: "n1" } }));
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const extensionsOfProxy = [FOR_SERVERS, "subjectAltName=IP:127.0.0.1"];
  const proxying = await certificates.issue(authority, { subject: "/CN=proxy", extensions: extensionsOfProxy });
  return { port: portOf(server), ca: authority.certificatePem, proxying };
}

describe("[2.10] a connection to the API server through a proxy", () => {
  test("is made by CONNECT, proves the server's identity, and is made again when the proxy has cut it", async (t) => {
    const { port, ca } = await apiServer(t);
    const through = await proxy(t, { onwardPort: port });
    const connection = { url: URL_BEHIND, ca, proxy: { url: through.url, ca: [] }, credentials: ANONYMOUS };
    const api = client(t, connection);
    assert.equal((await api.get(nodes, { name: "n1" }, never)).metadata?.name, "n1");
    assert.deepEqual(through.asked, [{ target: "api.shop.example:6443", login: undefined }]);
    through.cut();
    while (api.sessionsOpen > 0) await pause(5);
    assert.equal((await api.get(nodes, { name: "n1" }, never)).metadata?.name, "n1");
    assert.equal(through.asked.length, 2);
    const { status } = await oneShotRequest(connection, "/api/v1/nodes/n1", hostClock, never);
    assert.deepEqual([status, through.asked.length], [200, 3]);
    const untrusting = client(t, { ...connection, ca: (await apiServer(t)).ca });
    await assert.rejects(untrusting.get(nodes, { name: "n1" }, never), /certificate/);
  });

  test("names the server as tls-server-name does, an IP address included", async (t) => {
    const { port, ca } = await apiServer(t);
    const through = await proxy(t, { onwardPort: port });
    const direct = `https://127.0.0.1:${port}`;
    for (const [url, serverName, isRight] of [
      ["https://elsewhere.example:6443", "127.0.0.1", true],
      ["https://elsewhere.example:6443", "127.0.0.2", false],
      ["https://elsewhere.example:6443", "api.shop.example", true],
      [direct, "127.0.0.1", true],
      [direct, "127.0.0.2", false],
      [direct, "api.shop.example", true],
      [direct, "other.example", false],
    ] as const) {
      const connection = {
        url,
        serverName,
        ca,
        ...(url === direct ? {} : { proxy: { url: through.url, ca: [] } }),
        credentials: ANONYMOUS,
      };
      const answers = [
        () => client(t, connection).get(nodes, { name: "n1" }, never),
        () => oneShotRequest(connection, "/version", hostClock, never),
      ];
      for (const answer of answers) {
        if (isRight) await answer();
        else await assert.rejects(answer, /altnames/, `${url} ${serverName}`);
      }
    }
  });

  test("begins with TLS to an HTTPS proxy, whose own name is verified", async (t) => {
    const { port, ca, proxying } = await apiServer(t);
    const through = await proxy(t, { onwardPort: port, serving: proxying });
    const connection = { url: URL_BEHIND, ca, proxy: { url: through.url, ca: [ca] }, credentials: ANONYMOUS };
    assert.equal((await client(t, connection).get(nodes, { name: "n1" }, never)).metadata?.name, "n1");
    const untrusting = client(t, { ...connection, proxy: { url: through.url, ca: [(await apiServer(t)).ca] } });
    await assert.rejects(untrusting.get(nodes, { name: "n1" }, never), /proxy 127\.0\.0\.1:\d+: .*certificate/);
    const misnamed = new URL(through.url);
    misnamed.hostname = "localhost";
    const refused = client(t, { ...connection, proxy: { url: misnamed, ca: [ca] } });
    await assert.rejects(refused.get(nodes, { name: "n1" }, never), /altnames/);
  });

  test("[2.12] of an insecure kubeconfig does not ask the server for its identity", async (t) => {
    const { port } = await apiServer(t);
    const { ca } = await apiServer(t);
    const connection = { url: `https://127.0.0.1:${port}`, ca, isInsecure: true as const, credentials: ANONYMOUS };
    assert.equal((await client(t, connection).get(nodes, { name: "n1" }, never)).metadata?.name, "n1");
    assert.equal((await oneShotRequest(connection, "/version", hostClock, never)).status, 200);
  });

  test("that the proxy refuses fails with its name and status, without the password", async (t) => {
    const through = await proxy(t, {
      answer: (socket) => void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
    });
    const url = new URL(through.url);
    [url.username, url.password] = ["agent", "s%20cret"];
    await assert.rejects(openTunnel({ url, ca: [] }, new URL("https://api.example"), never), (error: Error) => {
      assert.equal(error.message, `proxy ${url.host}: it refused the connection to api.example:443 with status 407`);
      return true;
    });
    const login = `Basic ${Buffer.from("agent:s cret").toString("base64")}`;
    assert.deepEqual(through.asked, [{ target: "api.example:443", login }]);
  });

  test("that the proxy never answers ends with the caller", async (t) => {
    const through = await proxy(t, { answer: () => {} });
    const impatient = new AbortController();
    const opening = openTunnel({ url: through.url, ca: [] }, new URL("https://api.example"), impatient.signal);
    const rejected = assert.rejects(opening, { message: "enough" });
    while (through.asked.length === 0) await pause(5);
    impatient.abort(new Error("enough"));
    await rejected;
  });

  test("to a proxy that does not listen is an error that names it", async () => {
    await assert.rejects(
      openTunnel({ url: new URL("http://127.0.0.1:1"), ca: [] }, new URL("https://api.example"), never),
      /^Error: proxy 127\.0\.0\.1:1: connect ECONNREFUSED/,
    );
  });
});
