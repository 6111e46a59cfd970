/** Our D-Bus client against the reference bus and libsystemd's tool, on a socket of the test's own. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { connectDbus, type DbusConnection } from "../../src/wire/dbus/connection.ts";
import type { DbusValue, DbusVariant } from "../../src/wire/dbus/signature.ts";
import { waitUntil } from "../cluster/wait.ts";

const run = promisify(execFile);
const forever = new AbortController().signal;
const bus = { destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus" };

/** Whoever runs the test may connect, and may send what they like. */
const CONFIG = (
  socket: string,
) => `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
<busconfig><type>custom</type><listen>unix:path=${socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`;

void suite("a real dbus-daemon", () => {
  let folder: string;
  let socketPath: string;
  let daemon: ReturnType<typeof spawn>;
  let connection: DbusConnection;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "deckhand-dbus-"));
    socketPath = join(folder, "bus");
    await writeFile(join(folder, "bus.conf"), CONFIG(socketPath));
    daemon = spawn("dbus-daemon", [`--config-file=${join(folder, "bus.conf")}`, "--nofork"], { stdio: "inherit" });
    await waitUntil("the bus to listen", 10_000, async () => {
      connection = await connectDbus({ socketPath, isBus: true }, forever);
      return true;
    });
  });
  after(async () => {
    connection.close();
    daemon.kill();
    await once(daemon, "exit");
    await rm(folder, { recursive: true });
  });

  test("it lets us in, and answers calls with what it is", async () => {
    const [names] = await connection.call({ ...bus, member: "ListNames" }, forever);
    assert.ok((names as readonly string[]).includes("org.freedesktop.DBus"));
    const asked = { ...bus, member: "GetConnectionCredentials", signature: "s", body: ["org.freedesktop.DBus"] };
    const [credentials] = await connection.call(asked, forever);
    const uid = (credentials as readonly (readonly [string, DbusVariant])[]).find(([key]) => key === "UnixUserID");
    assert.deepEqual(uid?.[1], { signature: "u", value: process.getuid?.() });
  });

  test("its errors are told by name", async () => {
    const call = { ...bus, member: "GetNameOwner", signature: "s", body: ["no.such.name"] };
    await assert.rejects(connection.call(call, forever), { errorName: "org.freedesktop.DBus.Error.NameHasNoOwner" });
  });

  test("it passes on what we marshal: it would end the connection of whoever sends bytes that are not valid", async () => {
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

  test("signals of others are heard by their rule, as libsystemd sent them", async () => {
    const heard: (readonly DbusValue[])[] = [];
    await connection.listen({ interface: "a.b", member: "JobRemoved" }, (body) => heard.push(body), forever);
    const emit = (member: string, ...args: readonly string[]) =>
      run("busctl", [`--address=unix:path=${socketPath}`, "emit", "/a", "a.b", member, ...args]);
    await emit("JobNew", "u", "1");
    await emit(
      "JobRemoved",
      "uossa(sv)",
      "7",
      "/org/x/job/7",
      "a.slice",
      "done",
      "1",
      "Id",
      "t",
      "18446744073709551615",
    );
    await waitUntil("the signal", 10_000, () => Promise.resolve(heard.length > 0));
    assert.deepEqual(heard, [
      [7, "/org/x/job/7", "a.slice", "done", [["Id", { signature: "t", value: 18_446_744_073_709_551_615n }]]],
    ]);
  });

  test("a connection that was closed here takes no more calls, and the others go on", async () => {
    const other = await connectDbus({ socketPath, isBus: true }, forever);
    other.close();
    await assert.rejects(other.call({ ...bus, member: "ListNames" }, forever), { name: "DbusClosedError" });
    assert.equal(connection.isOpen, true);
  });
});
