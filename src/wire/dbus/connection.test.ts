import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { listenAsPeer, type PeerCall } from "../../../test/support/dbus-peer.ts";
import { connectDbus, type DbusConnection } from "./connection.ts";

const forever = new AbortController().signal;
const GONE = { sender: "d", path: "/p", interface: "i.i", member: "Gone", signature: "u" } as const;
const call = (member: string) => ({ destination: "d", path: "/p", interface: "i.i", member });

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "deckhand-dbus-"));
});
after(() => rm(directory, { recursive: true }));

let sockets = 0;

async function withPeer(
  onCall: (call: PeerCall) => void,
  run: (connection: DbusConnection) => Promise<void>,
  { isBus } = { isBus: false },
): Promise<void> {
  sockets += 1;
  const socketPath = join(directory, String(sockets));
  const peer = await listenAsPeer(socketPath, onCall);
  const connection = await connectDbus({ socketPath, isBus }, forever);
  try {
    await run(connection);
  } finally {
    connection.close();
    await peer.close();
  }
}

void suite("D-Bus connection", () => {
  test("matches replies to calls in any order", async () => {
    const asked: PeerCall[] = [];
    await withPeer(
      (one) => {
        asked.push(one);
        if (asked.length === 3) for (const each of asked.toReversed()) each.reply("s", `to ${each.member}`);
      },
      async (connection) => {
        const answers = await Promise.all(["A", "B", "C"].map((member) => connection.call(call(member), forever)));
        assert.deepEqual(answers, [["to A"], ["to B"], ["to C"]]);
      },
    );
  });

  test("rejects a call with the name and text of the D-Bus error", async () => {
    await withPeer(
      (one) => one.fail("org.x.NoSuchUnit", "Unit a.slice not loaded."),
      async (connection) => {
        await assert.rejects(connection.call(call("A"), forever), {
          name: "DbusError",
          errorName: "org.x.NoSuchUnit",
          message: "org.x.NoSuchUnit: Unit a.slice not loaded.",
        });
      },
    );
  });

  test("delivers a signal that arrives before a reply first, and none after the listener ends", async () => {
    await withPeer(
      (one) => {
        one.signal({ path: "/p", interface: "i.i", member: "Gone", signature: "u", body: [7] });
        one.signal({ path: "/p", interface: "i.i", member: "Other", body: [] });
        one.reply("");
      },
      async (connection) => {
        const heard: unknown[] = [];
        const end = await connection.listen(GONE, (body) => heard.push(...body), forever);
        await connection.call(call("A"), forever);
        assert.deepEqual(heard, [7]);
        end();
        await connection.call(call("A"), forever);
        assert.deepEqual(heard, [7]);
      },
    );
  });

  test("delivers only signals of the watched name's owner, and follows NameOwnerChanged of the bus", async () => {
    const asked: unknown[] = [];
    const gone = { ...GONE, body: [7] };
    const ownerChanged = {
      sender: "org.freedesktop.DBus",
      path: "/org/freedesktop/DBus",
      interface: "org.freedesktop.DBus",
      member: "NameOwnerChanged",
      signature: "sss",
    };
    const answers: Readonly<Record<string, (one: PeerCall) => void>> = {
      GetNameOwner: (one) => one.reply("s", ":1.1"),
      A(one) {
        one.signal({ ...gone, sender: ":1.66" });
        one.signal({ ...gone, sender: ":1.1", path: "/q" });
        one.signal({ ...gone, sender: ":1.1", signature: "s", body: ["text"] });
        one.signal({ ...gone, sender: ":1.1" });
        one.reply("");
      },
      B(one) {
        one.signal({ ...ownerChanged, sender: ":1.66", body: ["d", ":1.1", ":1.66"] });
        one.signal({ ...gone, sender: ":1.66", body: [66] });
        one.signal({ ...ownerChanged, body: ["d", ":1.1", ":1.9"] });
        one.signal({ ...gone, sender: ":1.1", body: [1] });
        one.signal({ ...gone, sender: ":1.9", body: [9] });
        one.reply("");
      },
    };
    await withPeer(
      (one) => {
        if (one.member === "AddMatch") asked.push(...one.body);
        const answer = answers[one.member] ?? ((other: PeerCall) => other.reply(""));
        answer(one);
      },
      async (connection) => {
        const heard: unknown[] = [];
        await connection.listen(GONE, (body) => heard.push(...body), forever);
        await connection.call(call("A"), forever);
        assert.deepEqual(heard, [7]);
        await connection.call(call("B"), forever);
        assert.deepEqual(heard, [7, 9]);
        assert.deepEqual(asked, [
          "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='d'",
          "type='signal',sender='d',path='/p',interface='i.i',member='Gone'",
        ]);
      },
      { isBus: true },
    );
  });

  test("rejects pending and later calls with DbusClosedError when the peer hangs up", async () => {
    await withPeer(
      (one) => one.hangUp(),
      async (connection) => {
        await assert.rejects(connection.call(call("A"), forever), { name: "DbusClosedError" });
        assert.equal(connection.isOpen, false);
        await assert.rejects(connection.call(call("A"), forever), { name: "DbusClosedError" });
      },
    );
  });

  test("rejects an aborted call, and answers the next one", async () => {
    await withPeer(
      (one) => one.member === "B" && one.reply("s", "b"),
      async (connection) => {
        const patience = new AbortController();
        const waiting = connection.call(call("A"), patience.signal);
        patience.abort(new Error("enough"));
        await assert.rejects(waiting, { message: "enough" });
        assert.deepEqual(await connection.call(call("B"), forever), ["b"]);
      },
    );
  });

  test("names the socket when authentication is rejected and when the socket does not exist", async () => {
    const socketPath = join(directory, "closed");
    const peer = await listenAsPeer(socketPath, () => {}, "REJECTED EXTERNAL\r\n");
    await assert.rejects(connectDbus({ socketPath, isBus: false }, forever), {
      message: `cannot reach D-Bus at ${socketPath}: it does not let us in: REJECTED EXTERNAL`,
    });
    await peer.close();
    await assert.rejects(connectDbus({ socketPath: join(directory, "nobody"), isBus: false }, forever), {
      message: /^cannot reach D-Bus at .*nobody: connect ENOENT/,
    });
  });

  test("stops connecting to a silent peer when the signal aborts", async () => {
    const socketPath = join(directory, "mute");
    const peer = await listenAsPeer(socketPath, () => {}, "");
    const patience = new AbortController();
    const connecting = connectDbus({ socketPath, isBus: false }, patience.signal);
    patience.abort(new Error("enough"));
    await assert.rejects(connecting, { message: "enough" });
    await peer.close();
  });
});
