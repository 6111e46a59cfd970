import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { waitUntil } from "../../test/cluster/wait.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { ConnectionLimiter } from "./connection-limiter.ts";

const LIMITS = { unauthenticatedMax: 6, unauthenticatedPerPeerMax: 4, unauthenticatedMsMax: 15_000 };

async function listening(t: TestContext) {
  const clock = new ManualClock();
  const limiter = new ConnectionLimiter(LIMITS, clock);
  const admitted: Socket[] = [];
  const server = createServer((socket) => {
    if (limiter.admit(socket)) admitted.push(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    limiter.closeAll();
    server.close();
  });
  const { port } = server.address() as { readonly port: number };
  /** The server's end of a new connection from `localAddress`. */
  const open = async (localAddress = "127.0.0.1") => {
    const already = admitted.length;
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    socket.on("error", () => {});
    t.after(() => socket.destroy());
    await waitUntil("the connection to be admitted", 10_000, async () => admitted.length > already);
    const ours = admitted[already];
    assert.ok(ours);
    return ours;
  };
  return { clock, limiter, open };
}

describe("the connection limiter", () => {
  test("counts two connections with the same remote port separately, and forgets both", async (t) => {
    const { limiter, open } = await listening(t);
    const [first, second] = [await open(), await open()];
    const { remotePort } = first;
    limiter.markAuthenticated(first);
    limiter.markAuthenticated(second);
    for (let round = 0; round < 2 * LIMITS.unauthenticatedMax; round += 1) {
      const [older, younger] = [await open(), await open()];
      limiter.markAuthenticated(older);
      limiter.markAuthenticated(younger);
      // A client may reuse a port before we observe the end of the old connection: simulate connections with the same
      // port.
      for (const socket of [older, younger]) {
        Object.defineProperty(socket, "remotePort", { value: remotePort });
        assert.equal(limiter.admit(socket), true);
      }
      assert.equal(limiter.unauthenticated, 2);
      older.destroy();
      await once(older, "close");
      assert.equal(limiter.unauthenticated, 1);
      younger.destroy();
      await once(younger, "close");
      assert.equal(limiter.unauthenticated, 0);
    }
  });

  test("evicts an unauthenticated connection at the time limit, but no authenticated or anonymously authorized one", async (t) => {
    const { clock, limiter, open } = await listening(t);
    const [unauthenticated, known, anybody] = [await open(), await open(), await open()];
    limiter.markAuthenticated(known);
    limiter.markAuthorized(anybody);
    await clock.advance(LIMITS.unauthenticatedMsMax - 1);
    assert.equal(unauthenticated.destroyed, false);
    await clock.advance(1);
    assert.deepEqual(
      [unauthenticated, known, anybody].map(({ destroyed }) => destroyed),
      [true, false, false],
    );
    assert.deepEqual([limiter.unauthenticated, limiter.evicted], [1, 1]);
    anybody.destroy();
    await once(anybody, "close");
    assert.deepEqual([limiter.unauthenticated, clock.timersPending], [0, 0]);
  });

  test("evicts the oldest connection of the busiest address over a limit", async (t) => {
    const { limiter, open } = await listening(t);
    const few = [await open("127.0.0.2"), await open("127.0.0.2")];
    const many = [await open("127.0.0.3"), await open("127.0.0.3"), await open("127.0.0.3"), await open("127.0.0.3")];
    const newcomer = await open("127.0.0.4");
    assert.deepEqual(
      [...few, ...many, newcomer].map(({ destroyed }) => destroyed),
      [false, false, true, false, false, false, false],
    );
    await open("127.0.0.3");
    assert.deepEqual(
      many.map(({ destroyed }) => destroyed),
      [true, true, false, false],
    );
    assert.deepEqual([limiter.unauthenticated, limiter.evicted], [LIMITS.unauthenticatedMax, 2]);
  });
});
