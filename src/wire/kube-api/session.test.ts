import assert from "node:assert/strict";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createSecureContext } from "node:tls";
import { FOR_SERVERS, TestCertificates } from "../../../test/support/test-certificates.ts";
import { hostClock } from "../host/clock.ts";
import { Session } from "./session.ts";

test("[1.14] NODE_TLS_REJECT_UNAUTHORIZED=0 does not disable verification of the server certificate", async (t) => {
  await using made = await TestCertificates.in();
  const [ours, foreign] = [
    await made.selfSigned({ subject: "/CN=ours" }),
    await made.selfSigned({ subject: "/CN=foreign" }),
  ];
  const { certificatePem: cert, keyPem: key } = await made.issue(foreign, {
    subject: "/CN=server",
    extensions: [FOR_SERVERS],
  });
  const server = createSecureServer({ cert, key }).listen(0, "127.0.0.1");
  server.on("sessionError", () => {});
  t.after(() => server.close());
  await once(server, "listening");
  const name = "NODE_TLS_REJECT_UNAUTHORIZED";
  const before = process.env[name];
  t.after(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
  process.env[name] = "0";
  const session = new Session({
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serverName: undefined,
    verifiesServer: true,
    proxy: undefined,
    secureContext: createSecureContext({ ca: ours.certificatePem }),
    clock: hostClock,
    connectLimitMs: 5_000,
    pingEveryMs: 10_000,
    pingLimitMs: 10_000,
  });
  t.after(() => session.destroy(new Error("the test has ended")));
  await assert.rejects(session.ready, /unable to verify the first certificate|self-signed certificate/);
});
