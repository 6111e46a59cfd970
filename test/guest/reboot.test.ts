/** A resumed guest can be rebooted if it was created with `mayReboot`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { figure } from "../figures.ts";
import { resumeGuest } from "./guests.ts";
import { leftOf } from "./records.ts";

describe("a reboot", () => {
  test("keeps the disk, has a new boot id and starts the runtime", async () => {
    await using guest = await resumeGuest({ mayReboot: true, hostname: "comes-back" });
    const bootId = () => guest.must("cat /proc/sys/kernel/random/boot_id");
    const before = await bootId();
    await guest.must("echo kept > /root/kept; echo lost > /run/lost");
    const lost = assert.rejects(guest.run("sleep 600", { limitMs: 600_000 }), /restarted/);
    const startedMs = performance.now();
    assert.equal(await guest.reboot(), "running");
    figure("reboot", Math.round(performance.now() - startedMs), "ms");
    await lost;
    assert.notEqual(await bootId(), before);
    assert.equal(await guest.must("cat /root/kept; hostname"), "kept\ncomes-back\n");
    assert.equal((await guest.run("cat /run/lost")).code, 1);
    await guest.must("systemctl is-active containerd && ctr -n k8s.io images ls -q | grep pause");
  });

  test("is rejected by a guest without mayReboot, which ends when it is powered off", async () => {
    const guest = await resumeGuest();
    await assert.rejects(guest.reboot(), /not made to be rebooted/);
    // The guest may end before the answer arrives.
    await guest.must("systemctl --no-block poweroff").catch((lost: Error) => assert.match(lost.message, /has ended/));
    await guest.ended();
    await assert.rejects(guest.run("true"), /has ended/);
    await guest.close();
    assert.deepEqual(await leftOf(guest.name), []);
  });
});
