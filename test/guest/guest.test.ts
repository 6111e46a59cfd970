/** What a guest provides, and that scripts report their complete output and exit codes. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { figure } from "../figures.ts";
import type { Guest } from "./guest.ts";
import { resumeGuest } from "./guests.ts";
import { guestSnapshot } from "./snapshot.ts";

/** Measured: 1.2 to 2.9 s. The rest is for a machine that is busy. */
const RESUME_MS_MAX = 20_000;
const OUTPUT_BYTES = 300_000;

describe("a guest", () => {
  let guest: Guest;

  before(async () => {
    await guestSnapshot();
    guest = await resumeGuest();
  });
  after(() => guest.close());

  test("is resumed within seconds", async () => {
    const startedMs = performance.now();
    await using fresh = await resumeGuest();
    const tookMs = performance.now() - startedMs;
    figure("resume", Math.round(tookMs), "ms");
    assert.equal((await fresh.run("true")).code, 0);
    assert.ok(tookMs < RESUME_MS_MAX, `${tookMs} ms`);
  });

  test("runs systemd on cgroup v2 with every controller and without failed units", async () => {
    assert.equal(await guest.must("stat -fc %T /sys/fs/cgroup"), "cgroup2fs\n");
    assert.equal(await guest.settled(), "running");
    assert.equal(await guest.must("systemctl --failed --no-legend"), "");
    assert.equal(await guest.must("readlink /proc/1/exe"), "/usr/lib/systemd/systemd\n");
    const controllers = (await guest.must("cat /sys/fs/cgroup/cgroup.controllers")).trim().split(" ");
    for (const wanted of ["cpu", "cpuset", "io", "memory", "pids", "hugetlb"]) assert.ok(controllers.includes(wanted));
    await guest.must("systemctl is-active systemd-logind dbus containerd");
    await guest.must("cat /proc/pressure/memory");
  });

  test("has a runtime with the systemd driver, and the images", async () => {
    const config = await guest.must("containerd config dump | grep SystemdCgroup");
    assert.match(config, /SystemdCgroup = true/);
    const images = (await guest.must("ctr -n k8s.io images ls -q")).split("\n");
    for (const wanted of ["pause:3.10.2", "busybox:1.37.0-1", "agnhost:2.63.0"]) {
      assert.ok(images.some((image) => image.endsWith(wanted)));
    }
  });

  test("has the current time and its own random numbers, not those of the snapshot", async () => {
    const lateS = Date.now() / 1000 - Number(await guest.must("date +%s"));
    assert.ok(Math.abs(lateS) < 30, `${lateS} s`);
    const random = "head -c 16 /dev/urandom | od -An -tx1";
    await using other = await resumeGuest();
    assert.notEqual(await guest.must(random), await other.must(random));
  });

  test("handles scripts and output of 300 KB completely", async () => {
    const long = "y".repeat(OUTPUT_BYTES);
    assert.deepEqual(await guest.run(`echo ${long}`), { code: 0, stdout: `${long}\n`, stderr: "" });
    const both = await guest.run(`seq 1 50000; seq 1 50000 >&2; exit 3`);
    const numbers = Array.from({ length: 50_000 }, (_, index) => `${index + 1}\n`).join("");
    assert.equal(both.code, 3);
    assert.equal(both.stdout, numbers);
    assert.equal(both.stderr, numbers);
  });

  test("runs scripts in parallel", async () => {
    await guest.must("rm -rf /run/meet && mkdir /run/meet");
    const meet = (mine: string, other: string) =>
      guest.must(`touch /run/meet/${mine}; until [ -e /run/meet/${other} ]; do sleep 0.1; done; echo ${mine}`);
    assert.deepEqual(await Promise.all([meet("a", "b"), meet("b", "a")]), ["a\n", "b\n"]);
  });

  test("does not wait for processes that a script leaves running, and keeps them running", async () => {
    const pid = (await guest.must("sleep 600 &\necho $!")).trim();
    await guest.must(`kill -0 ${pid} && kill ${pid}`);
  });

  test("ends a script that exceeds its limit, and reports its output", async () => {
    await assert.rejects(guest.run("echo before; exec sleep 600.25", { limitMs: 3_000 }), /within 3000 ms[^]*before/);
    assert.notEqual((await guest.run("pgrep -f '^sleep 600.25'")).code, 0);
  });

  test("reports the exit code of a script, also of a killed one", async () => {
    assert.equal((await guest.run("exit 7")).code, 7);
    assert.equal((await guest.run("kill -9 $$")).code, 137);
    await assert.rejects(guest.must("echo so >&2; false"), /ended with 1[^]*so/);
  });
});
