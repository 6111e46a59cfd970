import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { plainRoute, READ } from "../../src/server/plain-route.ts";
import { sendText } from "../../src/server/responses.ts";
import { pause } from "../cluster/wait.ts";
import { wholeSize } from "../size.ts";
import { assertHeldOff } from "../support/hostile-outcomes.ts";
import { IdleLoop, RESOLUTION_MS } from "../support/idle-loop.ts";
import { NodeCaller } from "../support/node-caller.ts";
import { serveApi } from "../support/served-api.ts";
import { FOR_SERVERS, TestCertificates } from "../support/test-certificates.ts";

const script = fileURLToPath(new URL("../support/hostile-client.ts", import.meta.url));
const LOOP_DELAY_MS_MAX = 50;

test("hostile clients reach no route, are disconnected, and delay neither the event loop nor authorized clients", async (t) => {
  await using made = await TestCertificates.in();
  const authority = await made.selfSigned({ subject: "/CN=authority" });
  const certificate = await made.issue(authority, { subject: "/CN=node", extensions: [FOR_SERVERS] });
  let reached = 0;
  const pods = plainRoute("/pods", { methods: READ, subresources: ["pods", "proxy"] }, (_, response) => {
    reached += 1;
    sendText(response, 200, "pods");
  });
  const exec = {
    ...plainRoute("/exec/{namespace}/{pod}/{container}", { methods: READ, subresources: ["proxy"] }, () => {
      reached += 1000;
    }),
    upgrade: async () => {
      reached += 1000;
    },
  };
  const api = serveApi({ routes: [pods, exec], certificate, clientCa: authority.certificatePem });
  t.after(api.stop);
  const port = await api.port;
  using friend = new NodeCaller({
    host: "127.0.0.1",
    port,
    identity: await made.issue(authority, { subject: "/CN=ada" }),
  });
  assert.equal((await friend.ask("/pods")).status, 200);

  await using idle = new IdleLoop();
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const attacking = promisify(execFile)(process.execPath, [script, String(port), wholeSize() ? "1" : "0.1"]);
  let asked = 1;
  const over = new AbortController();
  const attacked = attacking.finally(() => over.abort());
  while (!over.signal.aborted) {
    assert.equal((await friend.ask("/pods")).status, 200);
    asked += 1;
    await pause(20);
  }
  const { stdout } = await attacked;
  delay.disable();
  assert.equal(reached, asked, "nobody but the friend was answered by a route");
  assertHeldOff(stdout, { isNear: true });
  const machineMs = await idle.p99Ms();
  const p99Ms = delay.percentile(99) / 1e6;
  t.diagnostic(
    `loop delay p99 ${p99Ms.toFixed(1)} ms, of an idle loop ${machineMs.toFixed(1)} ms, most ${(delay.max / 1e6).toFixed(1)} ms; ${api.limiter.evicted} connections rejected`,
  );
  assert.ok(p99Ms - machineMs <= LOOP_DELAY_MS_MAX, `p99 ${p99Ms} ms, ${machineMs} ms of it the machine's`);
});
