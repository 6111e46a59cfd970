/** The D-Bus client against the reference dbus-daemon and libsystemd's busctl, on the test's own socket. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { connectDbus, type DbusConnection } from "../../src/wire/dbus/connection.ts";
import { type DbusMessage, encodeMessage } from "../../src/wire/dbus/message.ts";
import type { DbusValue, DbusVariant } from "../../src/wire/dbus/signature.ts";
import { waitUntil } from "../cluster/wait.ts";

const run = promisify(execFile);
const forever = new AbortController().signal;
const bus = { destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus" };

/** The user who runs the test may connect and send anything. */
const CONFIG = (
  socket: string,
) => `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
<busconfig><type>custom</type><listen>unix:path=${socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`;

void suite("a real dbus-daemon", () => {
  let directory: string;
  let socketPath: string;
  let daemon: ReturnType<typeof spawn>;
  let connection: DbusConnection;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "deckhand-dbus-"));
    socketPath = join(directory, "bus");
    await writeFile(join(directory, "bus.conf"), CONFIG(socketPath));
    daemon = spawn("dbus-daemon", [`--config-file=${join(directory, "bus.conf")}`, "--nofork"], { stdio: "inherit" });
    await waitUntil("the bus to listen", 10_000, async () => {
      connection = await connectDbus({ socketPath, isBus: true }, forever);
      return true;
    });
  });
  after(async () => {
    connection.close();
    daemon.kill();
    await once(daemon, "exit");
    await rm(directory, { recursive: true });
  });

  test("authenticates the client, and answers calls about its names and credentials", async () => {
    const [names] = await connection.call({ ...bus, member: "ListNames" }, forever);
    assert.ok((names as readonly string[]).includes("org.freedesktop.DBus"));
    const asked = { ...bus, member: "GetConnectionCredentials", signature: "s", body: ["org.freedesktop.DBus"] };
    const [credentials] = await connection.call(asked, forever);
    const uid = (credentials as readonly (readonly [string, DbusVariant])[]).find(([key]) => key === "UnixUserID");
    assert.deepEqual(uid?.[1], { signature: "u", value: process.getuid?.() });
  });

  test("answers errors with their names", async () => {
    const call = { ...bus, member: "GetNameOwner", signature: "s", body: ["no.such.name"] };
    await assert.rejects(connection.call(call, forever), { errorName: "org.freedesktop.DBus.Error.NameHasNoOwner" });
  });

  test("accepts our marshaled messages: invalid bytes would make it close the connection", async () => {
    const properties = [
      ["Wants", { signature: "as", value: ["-.slice"] }],
      ["CPUWeight", { signature: "t", value: 2n ** 64n - 1n }],
      ["MemoryAccounting", { signature: "b", value: true }],
      ["AllowedCPUs", { signature: "ay", value: Uint8Array.of(1, 2, 3, 4, 5) }],
      ["Nested", { signature: "v", value: { signature: "a(sa(sv))", value: [["x", []]] } }],
    ] as const;
    const call = {
      destination: "no.such.name",
      path: "/a",
      interface: "a.b",
      member: "C",
      signature: "ssa(sv)a(sa(sv))u",
      body: ["kubepods-burstable-podx_ä.slice", "replace", properties, [["aux.slice", properties]], 7],
    };
    await assert.rejects(connection.call(call, forever), { errorName: "org.freedesktop.DBus.Error.ServiceUnknown" });
    assert.equal(connection.isOpen, true);
  });

  test("signals of a name are received from its current owner only", async () => {
    const heard: (readonly DbusValue[])[] = [];
    const name = "x.jobs";
    const ended = { path: "/a", interface: "a.b", member: "JobRemoved", signature: "us" } as const;
    const owner = async () => {
      const call = { ...bus, member: "GetNameOwner", signature: "s", body: [name] };
      const [unique] = await connection.call(call, forever).catch(() => [""]);
      return unique;
    };
    const first = await serviceOn(socketPath, name);
    await waitUntil("the name to have an owner", 10_000, async () => (await owner()) !== "");
    const stopped = await connection.listen({ ...ended, sender: name }, (body) => heard.push(body), forever);
    const [own] = await connection.call({ ...bus, member: "ListNames" }, forever);
    for (const destination of (own as readonly string[]).filter((one) => one.startsWith(":")).concat("")) {
      const to = destination === "" ? [] : [`--destination=${destination}`];
      const args = ["emit", ...to, "/a", "a.b", "JobRemoved", "us", "66", "forged"];
      await run("busctl", [`--address=unix:path=${socketPath}`, ...args]).catch(() => undefined); // One is gone.
    }
    first.signal({ ...ended, body: [7, "done"] });
    await waitUntil("the signal", 10_000, () => Promise.resolve(heard.length > 0));
    first.close();
    await waitUntil("the name to be free", 10_000, async () => (await owner()) === "");
    const second = await serviceOn(socketPath, name);
    await waitUntil("the name to have an owner", 10_000, async () => (await owner()) !== "");
    second.signal({ ...ended, body: [8, "done"] });
    await waitUntil("the second signal", 10_000, () => Promise.resolve(heard.length > 1));
    assert.deepEqual(heard, [
      [7, "done"],
      [8, "done"],
    ]);
    second.close();
    stopped();
  });

  test("a closed connection rejects calls, and other connections stay open", async () => {
    const other = await connectDbus({ socketPath, isBus: true }, forever);
    other.close();
    await assert.rejects(other.call({ ...bus, member: "ListNames" }, forever), { name: "DbusClosedError" });
    assert.equal(connection.isOpen, true);
  });
});

/** A service that owns a name on the bus and sends signals under it. */
async function serviceOn(socketPath: string, name: string) {
  const socket = connect(socketPath);
  let serial = 0;
  const send = (message: Omit<DbusMessage, "serial">) => {
    serial += 1;
    socket.write(encodeMessage({ ...message, serial }));
  };
  socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(process.getuid?.())).toString("hex")}\r\n`);
  await once(socket, "data");
  socket.resume();
  socket.write("BEGIN\r\n");
  send({ ...bus, kind: "call", member: "Hello", body: [] });
  send({ ...bus, kind: "call", member: "RequestName", signature: "su", body: [name, 0] });
  return {
    // The bus itself sets the sender.
    signal: (of: Omit<DbusMessage, "kind" | "serial">) => send({ ...of, kind: "signal" }),
    close: () => socket.destroy(),
  };
}
