import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { AS_AUTHORITY, FOR_CLIENTS, FOR_SERVERS, TestCertificates } from "../../../test/support/test-certificates.ts";
import { hostClock } from "../host/clock.ts";
import { API_ANSWER_BYTES_MAX } from "../limits.ts";
import { oneShotRequest } from "./one-shot-request.ts";

const never = new AbortController().signal;

test("oneShotRequest authenticates, returns status, JSON and Date header, fails on an untrusted server", async () => {
  await using certificates = await TestCertificates.in();
  const authority = await certificates.selfSigned({ subject: "/CN=ca", extensions: [AS_AUTHORITY] });
  const extensions = [FOR_SERVERS, "subjectAltName=IP:127.0.0.1"];
  const [serving, client] = await Promise.all([
    certificates.issue(authority, { subject: "/CN=server", extensions }),
    certificates.issue(authority, { subject: "/CN=system:node:n1", extensions: [FOR_CLIENTS] }),
  ]);
  const server = createServer(
    {
      cert: serving.certificatePem,
      key: serving.keyPem,
      ca: authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      if (request.url === "/hangs") return;
      const socket = request.socket as unknown as { getPeerCertificate(): { subject?: { CN?: string } } };
      const seen = {
        url: request.url,
        token: request.headers.authorization,
        user: socket.getPeerCertificate().subject?.CN,
      };
      response.writeHead(request.url === "/text" ? 502 : 200, { date: "Mon, 01 Jun 2026 00:00:00 GMT" });
      response.end(request.url === "/text" ? "bad gateway" : JSON.stringify(seen));
    },
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ca = authority.certificatePem;
    const certificate = { kind: "certificate", ...client } as const;
    const ask = (
      path: string,
      credentials: Parameters<typeof oneShotRequest>[0]["credentials"] = certificate,
      trusted = ca,
    ) => oneShotRequest({ url: `${url}/`, ca: trusted, credentials }, path, hostClock, never);
    const dateWallMs = Date.UTC(2026, 5, 1);
    assert.deepEqual(await ask("/a?b=c"), { status: 200, body: { url: "/a?b=c", user: "system:node:n1" }, dateWallMs });
    assert.deepEqual((await ask("/a", { kind: "token", token: "t" })).body, { url: "/a", token: "Bearer t" });
    assert.deepEqual(await ask("/text"), { status: 502, body: undefined, dateWallMs });

    const other = await certificates.selfSigned({ subject: "/CN=other", extensions: [AS_AUTHORITY] });
    await assert.rejects(ask("/a", certificate, other.certificatePem), /certificate/);
    const impatient = new AbortController();
    const hanging = oneShotRequest({ url, ca, credentials: certificate }, "/hangs", hostClock, impatient.signal);
    hostClock.after(100, () => impatient.abort(new Error("enough")));
    await assert.rejects(hanging, { message: "enough" });
    await assert.rejects(
      oneShotRequest({ url: "https://127.0.0.1:1", ca, credentials: certificate }, "/", hostClock, never),
      /ECONNREFUSED/,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("oneShotRequest reads a response of exactly the limit and rejects a longer one", async () => {
  await using certificates = await TestCertificates.in();
  const extensions = [AS_AUTHORITY, "subjectAltName=IP:127.0.0.1"];
  const serving = await certificates.selfSigned({ subject: "/CN=server", extensions });
  let sizeBytes = API_ANSWER_BYTES_MAX;
  const server = createServer({ cert: serving.certificatePem, key: serving.keyPem }, (_request, response) => {
    response.end(Buffer.alloc(sizeBytes, " ").fill("{}", 0, 2));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connection = { url, ca: serving.certificatePem, credentials: { kind: "anonymous" } } as const;
    assert.deepEqual((await oneShotRequest(connection, "/a", hostClock, never)).body, {});
    sizeBytes += 1;
    const message = `/a: the answer is longer than ${API_ANSWER_BYTES_MAX} bytes`;
    await assert.rejects(oneShotRequest(connection, "/a", hostClock, never), { message });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
