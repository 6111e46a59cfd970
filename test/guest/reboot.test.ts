/** A guest that was resumed can be rebooted, if it was made for it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { figure } from "../figures.ts";
import { resumeGuest } from "./guests.ts";
import { leftOf } from "./records.ts";

describe("a reboot", () => {
  test("comes back with the disk as it was, another boot and the runtime running", async () => {
    await using guest = await resumeGuest({ mayReboot: true, hostname: "comes-back" });
    const bootId = () => guest.must("cat /proc/sys/kernel/random/boot_id");
    const before = await bootId();
    await guest.must("echo kept > /root/kept; echo lost > /run/lost");
    const lost = assert.rejects(guest.run("sleep 600", { limitMs: 600_000 }), /began anew/);
    const startedMs = performance.now();
    assert.equal(await guest.reboot(), "running");
    figure("reboot", Math.round(performance.now() - startedMs), "ms");
    await lost;
    assert.notEqual(await bootId(), before);
    assert.equal(await guest.must("cat /root/kept; hostname"), "kept\ncomes-back\n");
    assert.equal((await guest.run("cat /run/lost")).code, 1);
    await guest.must("systemctl is-active containerd && ctr -n k8s.io images ls -q | grep pause");
  });

  test("is refused by a guest that was not made for it, which ends when it is switched off", async () => {
    const guest = await resumeGuest();
    await assert.rejects(guest.reboot(), /not made to be rebooted/);
    // Its end may come before the answer does.
    await guest.must("systemctl --no-block poweroff").catch((lost: Error) => assert.match(lost.message, /has ended/));
    await guest.ended();
    await assert.rejects(guest.run("true"), /has ended/);
    await guest.close();
    assert.deepEqual(await leftOf(guest.name), []);
  });
});
