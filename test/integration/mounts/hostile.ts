/** Measures what a hostile or an unresponsive volume can do. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test } from "node:test";
import { pause } from "../../cluster/wait.ts";
import { signal, toolsOf } from "../../contract/mounts/mounts-world.ts";
import { figure } from "../../figures.ts";
import { wholeSize } from "../../size.ts";
import { IdleLoop } from "../../support/idle-loop.ts";
import { Racer } from "./racer.ts";
import { helpers, inWorld, outcome } from "./real-world.ts";

for (const kind of ["silent", "deaf"] as const) {
  test(`eight ${kind} mounts block neither the event loop nor other calls`, () =>
    inWorld(async (world) => {
      const { mounts, at, files, write } = toolsOf(world);
      await write("live/file", "x");
      const dead = Array.from({ length: 8 }, (_, index) => at(`dead-${index}`));
      for (const path of dead) {
        await files.makeDirectory(path, 0o755);
        await world.plantDead(path, kind);
      }
      await using idle = new IdleLoop();
      const lag = monitorEventLoopDelay({ resolution: 5 });
      lag.enable();
      const hung = dead.map((path) => outcome(mounts.kindOf(path, signal)));
      let slowestMs = 0;
      for (let turn = 0; turn < 20; turn += 1) {
        const beginMs = performance.now();
        assert.equal(await mounts.kindOf(at("live/file"), signal), "file");
        slowestMs = Math.max(slowestMs, performance.now() - beginMs);
        await pause(50);
      }
      assert.deepEqual(new Set(await Promise.all(hung)), new Set(["unresponsive"]));
      for (const path of dead) await mounts.unmount(path, { lazy: true }, signal);
      assert.deepEqual(
        (await mounts.table()).filter(({ path }) => dead.includes(path)),
        [],
      );
      lag.disable();
      const lagMs = lag.max / 1e6 - (await idle.maxMs());
      figure(`slowest call beside eight ${kind} mounts`, Math.round(slowestMs), "ms");
      figure(`longest lag of the event loop beside eight ${kind} mounts`, Math.round(lagMs), "ms");
      assert.ok(slowestMs < 4000, `${slowestMs} ms`);
      assert.ok(lagMs < 100, `${lagMs} ms`);
    }));
}

test("changing the group of a directory with many files and removing it needs less than 100 MB", () =>
  inWorld(async (world) => {
    const { mounts, at, files, list } = toolsOf(world);
    const reported: number[] = [];
    const count = wholeSize() ? 1_000_000 : 20_000;
    await files.makeDirectory(at("v"), 0o755);
    execFileSync("sh", ["-c", `seq -f f%.0f ${count} | xargs touch`], { cwd: at("v") });
    const owned = await mounts.applyFsGroup(
      at("v"),
      { group: 77, readOnly: false, onlyIfRootDiffers: false, onProgress: (files) => reported.push(files) },
      signal,
    );
    assert.deepEqual(owned, { files: count + 1, refused: 0, firstRefusal: undefined });
    if (wholeSize()) assert.ok(reported.length > 0 && (reported.at(-1) ?? 0) <= count + 1, reported.join());
    const [pid] = helpers();
    const beforeKb = peakKb(pid);
    await mounts.removeTree(at("v"), signal);
    assert.equal(await list(""), "");
    assert.ok(peakKb(pid) - beforeKb < 100_000, `${peakKb(pid) - beforeKb} kB more`);
  }));

const peakKb = (pid: string | undefined) =>
  Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);

test("[13.14] bindSubPath binds nothing from outside while volume directories are swapped for symlinks", () =>
  inWorld(async (world) => {
    const { mounts, at, files, write, read } = toolsOf(world);
    await write("outside/marker", "outside");
    await write("volume/swapped/inner/marker", "inside");
    await write("outside/inner/marker", "outside");
    const [bindsWanted, swapsWanted] = wholeSize() ? [2_000, 100_000] : [60, 1_000];
    const racer = new Racer(at("volume"), "swapped", at("outside"));
    const outcomes = new Map<string, number>();
    const bind = { volume: at("volume"), subPath: "swapped/inner", target: at("target") };
    const bothSeen = () => outcomes.has("done") && outcomes.size > 1;
    const bindsAtMost = 50 * bindsWanted;
    const enough = (binds: number) => binds >= bindsWanted && racer.swaps >= swapsWanted && bothSeen();
    for (let binds = 0; !enough(binds) && binds < bindsAtMost; binds += 1) {
      const result = await outcome(mounts.bindSubPath(bind, signal));
      outcomes.set(result, (outcomes.get(result) ?? 0) + 1);
      if (result === "done") {
        const seen =
          (await files.facts(at("target/marker"))) === undefined ? "made again" : await read("target/marker");
        assert.notEqual(seen, "outside");
        await mounts.unmount(at("target"), { lazy: false }, signal);
      }
    }
    await racer.end();
    figure("swaps of a directory for a link", racer.swaps, "swaps");
    const known = new Set(["done", "unsafePath", "notFound"]);
    assert.deepEqual(
      [...outcomes.keys()].filter((name) => !known.has(name)),
      [],
      JSON.stringify([...outcomes]),
    );
    assert.deepEqual(readdirSync(at("outside")).sort(), ["inner", "marker"]);
    assert.ok(bothSeen() && racer.swaps >= swapsWanted, `${racer.swaps} swaps, ${JSON.stringify([...outcomes])}`);
  }));

test("[24.10] readBeneath reads no file from outside while volume directories are swapped for symlinks", () =>
  inWorld(async (world) => {
    const { mounts, at, write } = toolsOf(world);
    await write("volume/swapped/inner/env", "inside");
    await write("outside/inner/env", "outside");
    const swapsWanted = wholeSize() ? 100_000 : 1_000;
    const racer = new Racer(at("volume"), "swapped", at("outside"));
    const outcomes = new Map<string, number>();
    const enough = () => racer.swaps >= swapsWanted && outcomes.has("inside") && outcomes.size > 1;
    for (let reads = 0; !enough() && reads < 100 * swapsWanted; reads += 1) {
      const read = mounts.readBeneath(at("volume"), "swapped/inner/env", 100, signal);
      const result = await outcome(read);
      const seen = result === "done" ? Buffer.from(await read).toString() : result;
      outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1);
    }
    await racer.end();
    figure("swaps of a directory for a link while a file was read", racer.swaps, "swaps");
    const known = new Set(["inside", "unsafePath", "notFound"]);
    assert.ok(enough() && [...outcomes.keys()].every((name) => known.has(name)), JSON.stringify([...outcomes]));
  }));

test("a directory of 130,000 files and a path longer than PATH_MAX are measured", () =>
  inWorld(async (world) => {
    const { mounts, at, files } = toolsOf(world);
    const count = 130_000;
    await files.makeDirectory(at("v/wide"), 0o755);
    execFileSync("sh", ["-c", `seq -f f%.0f ${count} | xargs touch`], { cwd: at("v/wide") });
    const levels = 40;
    const name = "d".repeat(200);
    // A shell reaches what no path can name by entering each level from the level above.
    const deeper = `i=0; while [ $i -lt ${levels} ]; do mkdir ${name} && cd -P ${name} || exit 1; i=$((i+1)); done; touch last`;
    execFileSync("sh", ["-c", deeper], { cwd: at("v") });
    const { usage } = await mounts.measure(at("v"), "walk", signal);
    assert.equal(usage?.inodes, count + levels + 3);
    await mounts.removeTree(at("v"), signal);
  }));

test("[13.14] paths may contain characters that some parsers treat as line ends", () =>
  inWorld(async (world) => {
    const { mounts, at, write } = toolsOf(world);
    await write("volume/a\u2028b\u2029c\u0085d\re/file", "x");
    const path = at("volume/a\u2028b\u2029c\u0085d\re");
    assert.equal(await mounts.kindOf(path, signal), "directory");
    await mounts.bindSubPath(
      { volume: at("volume"), subPath: "a\u2028b\u2029c\u0085d\re", target: at("target") },
      signal,
    );
    await mounts.unmount(at("target"), { lazy: false }, signal);
  }));
