import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { waitUntil } from "../cluster/wait.ts";

const STAND_INS = join(import.meta.dirname, "stand-ins");
const LIMIT_MS = 60_000;

/** A unit that prints its argument and then waits. */
async function withUnit(work: (systemctl: (...args: readonly string[]) => string, log: string) => Promise<void>) {
  const directory = await mkdtemp(join(tmpdir(), "deckhand-units-"));
  const log = join(directory, "unit.log");
  const call = (program: string, args: readonly string[]) =>
    execFileSync(join(STAND_INS, program), args, {
      encoding: "utf8",
      timeout: LIMIT_MS,
      env: { ...process.env, DECKHAND_UNITS: directory },
    });
  const systemctl = (...args: readonly string[]) => call("systemctl", args);
  const properties = ["-p", "Delegate=true", "-p", `StandardError=append:${log}`];
  const unit = ["--unit=kubelet-1.service", "--slice=runtime.slice", "--remain-after-exit"];
  const script = 'trap "exit" TERM; echo "it began: $1"; while :; do sleep 0.05; done';
  call("systemd-run", [...properties, ...unit, "/bin/sh", "-c", script.replace("$1", "$$1"), "sh", "it's 100%%"]);
  try {
    await work(systemctl, log);
  } finally {
    systemctl("stop", "kubelet-1");
    await rm(directory, { recursive: true });
  }
}

const began = (log: string, count: number) =>
  waitUntil(
    "the unit to begin",
    LIMIT_MS,
    async () => (await readFile(log, "utf8")).split("began").length - 1 === count,
  );
const running = ["list-units", "*kubelet*", "--state=running"] as const;

void suite("the stand-ins for systemd-run and systemctl", () => {
  test("start a unit with the arguments that systemd would pass, and list it as running", () =>
    withUnit(async (systemctl, log) => {
      await began(log, 1);
      assert.equal(readFileSync(log, "utf8"), "it began: it's 100%\n");
      assert.match(systemctl(...running), /^ {2}kubelet-1\.service loaded active running /);
      assert.equal(systemctl("list-units", "*containerd*"), "");
    }));

  test("a killed unit stays listed without running, and a restart starts the same command", () =>
    withUnit(async (systemctl, log) => {
      await began(log, 1);
      systemctl("kill", "kubelet-1.service");
      await waitUntil("the unit to end", LIMIT_MS, () => Promise.resolve(systemctl(...running) === ""));
      assert.match(systemctl("list-units", "*kubelet*"), /kubelet-1\.service loaded active exited/);
      systemctl("reset-failed", "kubelet-1");
      systemctl("restart", "kubelet-1");
      await began(log, 2);
      assert.notEqual(systemctl(...running), "");
    }));

  test("a restart ends the running process first", () =>
    withUnit(async (systemctl, log) => {
      await began(log, 1);
      systemctl("restart", "kubelet-1");
      await began(log, 2);
      assert.equal(
        systemctl(...running)
          .trim()
          .split("\n").length,
        1,
      );
    }));
});
