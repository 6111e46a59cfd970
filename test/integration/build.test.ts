import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { after, describe, test } from "node:test";
import { hostClock } from "../../src/wire/host/clock.ts";
import { startHelper } from "../../src/wire/mounts/helper-process.ts";
import { createStats } from "../../src/wire/stats/stats.ts";
import { buildBundle } from "../../tools/build/bundle.ts";
import { buildExecutable } from "../../tools/build/executable.ts";
import { inRepository } from "../../tools/repository.ts";
import { scratch } from "../../tools/scratch.ts";
import { figure } from "../figures.ts";

describe("npm run build", () => {
  const elsewhere = scratch();
  after(() => elsewhere[Symbol.dispose]());
  const bundle = inRepository("dist/deckhand.js");
  const executable = inRepository("dist/deckhand");
  const run = (file: string, ...args: readonly string[]) => {
    // Away from the repository and its packages, as on a machine where nothing is installed.
    const { status, stdout, stderr } = spawnSync(file, args, { cwd: elsewhere.root, encoding: "utf8" });
    return { status, stdout, stderr };
  };

  test("makes a bundle and an executable", () => {
    const startedMs = performance.now();
    const { status, stderr } = run(process.execPath, inRepository("tools/build.ts"));
    assert.equal(status, 0, stderr);
    figure("build time", Math.round(performance.now() - startedMs), "ms");
    figure("bundle", statSync(bundle).size, "bytes");
    figure("executable", statSync(executable).size, "bytes");
  });

  test("the bundle carries the program of the thread that reads figures, which needs no file", async () => {
    const [address = ""] = /data:text\/javascript;base64,[A-Za-z0-9+/=]+/.exec(readFileSync(bundle, "utf8")) ?? [];
    const stats = createStats({ clock: hostClock, program: new URL(address) });
    const question = { detail: "usage", groups: [], sandboxes: new Set<string>(), filesystems: [], files: [] } as const;
    const { groups } = await stats.read(question, new AbortController().signal);
    await stats.close();
    assert.deepEqual(
      groups.map(({ id, cpu }) => [id, (cpu?.usageNs ?? 0) > 0]),
      [["/", true]],
    );
  });

  for (const [what, command] of [
    ["the bundle", [process.execPath, bundle]],
    ["the executable", [executable]],
  ] as const) {
    const [file = "", ...args] = command;
    test(`${what} says its version`, () => {
      const stdout = "deckhand 0.0.0 (Kubernetes v1.36.4)\n";
      assert.deepEqual(run(file, ...args, "--version"), { status: 0, stdout, stderr: "" });
    });

    test(`${what} is its own helper for volumes`, async () => {
      const helper = startHelper({ file, args: [...args, "volume-helper"] });
      const reply = await helper.run({ kind: "kindOf", path: elsewhere.root }, () => {});
      helper.end();
      await helper.ended;
      assert.deepEqual(reply, { kind: "done", value: "folder" });
    });

    test(`[1.1] ${what}, called as kubelet through a link, has the kubelet's command line`, () => {
      const link = elsewhere.path(`${what.replace("the ", "")}/kubelet`);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(args[0] ?? file, link);
      const called = args.length === 0 ? [link] : [file, link];
      const [program = "", ...before] = called;
      const stdout = "Kubernetes v1.36.4\n";
      assert.deepEqual(run(program, ...before, "--version"), { status: 0, stdout, stderr: "" });
      const refused = run(program, ...before, "x");
      assert.equal(refused.status, 1);
      assert.match(refused.stderr, /"command failed" err="unknown command x"\n$/);
    });
  }

  test("gives the same bundle and source map for the same tree, wherever it is written", async () => {
    const again = elsewhere.path("deckhand.js");
    await buildBundle(again);
    assert.deepEqual(readFileSync(again), readFileSync(bundle));
    assert.ok(statSync(`${bundle}.map`).size > 0);
    assert.equal(
      readFileSync(bundle, "utf8").includes(inRepository("")),
      false,
      "the bundle names a path of this machine",
    );
  });

  test("carries grpc-js and protobuf, which main does not use yet, into a bundle and an executable", async () => {
    elsewhere.write(
      "entry.ts",
      `import { credentials, Client } from "@grpc/grpc-js"; import { BinaryWriter } from "@bufbuild/protobuf/wire";
       const client = new Client("unix:/nowhere", credentials.createInsecure());
       console.log(client.getChannel().getTarget(), new BinaryWriter().uint32(8).finish().length);
       client.close();`,
    );
    elsewhere.linkPackages();
    const withGrpc = elsewhere.path("out/grpc.js");
    await buildBundle(withGrpc, elsewhere.path("entry.ts"));
    buildExecutable(withGrpc, elsewhere.path("out/grpc"));
    const wanted = { status: 0, stdout: "unix:/nowhere 1\n", stderr: "" };
    assert.deepEqual(run(process.execPath, withGrpc), wanted);
    assert.deepEqual(run(elsewhere.path("out/grpc")), wanted);
  });
});
