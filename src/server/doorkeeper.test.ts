import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { waitUntil } from "../../test/cluster/wait.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { Doorkeeper } from "./doorkeeper.ts";

const LIMITS = { unauthenticatedMax: 6, unauthenticatedPerPeerMax: 4, unauthenticatedMsMax: 15_000 };

async function door(t: TestContext) {
  const clock = new ManualClock();
  const doorkeeper = new Doorkeeper(LIMITS, clock);
  const taken: Socket[] = [];
  const server = createServer((socket) => {
    if (doorkeeper.admit(socket)) taken.push(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    doorkeeper.closeAll();
    server.close();
  });
  const { port } = server.address() as { readonly port: number };
  /** The server's end of a new connection from `localAddress`. */
  const come = async (localAddress = "127.0.0.1") => {
    const already = taken.length;
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    socket.on("error", () => {});
    t.after(() => socket.destroy());
    await waitUntil("it to be taken", 10_000, async () => taken.length > already);
    const ours = taken[already];
    assert.ok(ours);
    return ours;
  };
  return { clock, doorkeeper, come };
}

describe("the doorkeeper", () => {
  test("two connections with the same port at once are two, and both are forgotten", async (t) => {
    const { doorkeeper, come } = await door(t);
    const [first, second] = [await come(), await come()];
    const { remotePort } = first;
    doorkeeper.recognise(first);
    doorkeeper.recognise(second);
    for (let round = 0; round < 2 * LIMITS.unauthenticatedMax; round += 1) {
      const [older, younger] = [await come(), await come()];
      doorkeeper.recognise(older);
      doorkeeper.recognise(younger);
      // A client may reuse a port before we observe the end of the old connection: simulate connections with the same
      // port.
      for (const socket of [older, younger]) {
        Object.defineProperty(socket, "remotePort", { value: remotePort });
        assert.equal(doorkeeper.admit(socket), true);
      }
      assert.equal(doorkeeper.unauthenticated, 2);
      older.destroy();
      await once(older, "close");
      assert.equal(doorkeeper.unauthenticated, 1);
      younger.destroy();
      await once(younger, "close");
      assert.equal(doorkeeper.unauthenticated, 0);
    }
  });

  test("who has not said in time who they are is cut off; who has, or was let in without a name, is not", async (t) => {
    const { clock, doorkeeper, come } = await door(t);
    const [unauthenticated, known, anybody] = [await come(), await come(), await come()];
    doorkeeper.recognise(known);
    doorkeeper.letIn(anybody);
    await clock.advance(LIMITS.unauthenticatedMsMax - 1);
    assert.equal(unauthenticated.destroyed, false);
    await clock.advance(1);
    assert.deepEqual(
      [unauthenticated, known, anybody].map(({ destroyed }) => destroyed),
      [true, false, false],
    );
    assert.deepEqual([doorkeeper.unauthenticated, doorkeeper.turnedAway], [1, 1]);
    anybody.destroy();
    await once(anybody, "close");
    assert.deepEqual([doorkeeper.unauthenticated, clock.timersPending], [0, 0]);
  });

  test("one too many is taken, and the oldest of the address that has most goes", async (t) => {
    const { doorkeeper, come } = await door(t);
    const few = [await come("127.0.0.2"), await come("127.0.0.2")];
    const many = [await come("127.0.0.3"), await come("127.0.0.3"), await come("127.0.0.3"), await come("127.0.0.3")];
    const newcomer = await come("127.0.0.4");
    assert.deepEqual(
      [...few, ...many, newcomer].map(({ destroyed }) => destroyed),
      [false, false, true, false, false, false, false],
    );
    await come("127.0.0.3");
    assert.deepEqual(
      many.map(({ destroyed }) => destroyed),
      [true, true, false, false],
    );
    assert.deepEqual([doorkeeper.unauthenticated, doorkeeper.turnedAway], [LIMITS.unauthenticatedMax, 2]);
  });
});
