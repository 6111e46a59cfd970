/** A guest leaves nothing on the machine, however the guest or its creator ends. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { exists } from "../cluster/cache.ts";
import { processesBelow } from "../cluster/cgroups.ts";
import { waitUntil } from "../cluster/wait.ts";
import { resumeGuest } from "./guests.ts";
import { EthernetSwitch } from "./pieces/ethernet-switch.ts";
import { guestCgroup, guestDirectory, leftOf, listGuests } from "./records.ts";

describe("leftovers of a guest", () => {
  let directory: string;

  // A separate directory, so that guests of other tests are not counted.
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "dg-"));
    process.env["DECKHAND_GUESTS"] = join(directory, "guests");
  });
  after(() => rm(directory, { recursive: true }));

  test("no leftovers after a guest had disks, network cards, ports and processes on the host", async () => {
    const network = await EthernetSwitch.open(join(directory, "switch.sock"));
    const guest = await resumeGuest({ name: "leaves-nothing" });
    await guest.put({ "/opt/file": { content: "file" } });
    await guest.get(["/opt/file"], join(directory, "out"));
    await guest.join(network, "10.77.0.1/24");
    await guest.reach({ guest: { address: "10.0.2.100", port: 1 }, host: { address: "127.0.0.1", port: 1 } });
    await guest.hostPort(1);
    await guest.run("socat -u TCP:10.0.2.100:1 -");
    assert.deepEqual(
      (await readdir(guest.directory)).filter((name) => name.startsWith("disk") && name !== "disk.qcow2"),
      [],
    );
    assert.ok((await processesBelow(guestCgroup(guest.name))).length > 0);
    await guest.close();
    await network.close();
    assert.deepEqual(await leftOf("leaves-nothing"), []);
    assert.ok(!(await exists(join(directory, "guests"))));
    assert.ok(!(await exists(network.path)));
  });

  test("a name in use is rejected, and the guest that has it keeps running", async () => {
    await using guest = await resumeGuest({ name: "taken" });
    await assert.rejects(resumeGuest({ name: "taken" }), /up already/);
    assert.equal((await guest.run("echo on")).stdout, "on\n");
  });

  test("no process is left when the guest's creator is killed; the next guest removes the files", async () => {
    const module = join(import.meta.dirname, "guests.ts");
    const script = `const { resumeGuest } = await import(${JSON.stringify(module)});
      await resumeGuest({ name: "orphan" }); console.log("up"); setInterval(() => {}, 1000);`;
    const maker = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(maker.stdout, "data");
    assert.ok((await processesBelow(guestCgroup("orphan"))).length > 0);
    assert.deepEqual(await listGuests(), [{ name: "orphan", state: "up" }]);
    maker.kill("SIGKILL");
    await once(maker, "exit");
    await waitUntil("the machine to end with its maker", 30_000, async () => {
      return (await processesBelow(guestCgroup("orphan"))).length === 0;
    });
    assert.deepEqual(await listGuests(), [{ name: "orphan", state: "abandoned" }]);
    assert.ok(await exists(guestDirectory("orphan")));
    await using guest = await resumeGuest({ name: "next" });
    assert.deepEqual(await listGuests(), [{ name: guest.name, state: "up" }]);
    assert.deepEqual(await leftOf("orphan"), []);
  });
});
