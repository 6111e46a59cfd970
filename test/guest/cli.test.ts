/** `npm run guest`, as a user types it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type CommandResult, tryCommand } from "../cluster/command.ts";

const CLI = join(import.meta.dirname, "cli.ts");
const LIMIT_MS = 20 * 60_000;

describe("npm run guest", () => {
  let directory: string;
  let env: Readonly<Record<string, string>>;
  const guest = (...args: readonly string[]): Promise<CommandResult> =>
    tryCommand(process.execPath, [CLI, ...args], { env, limitMs: LIMIT_MS });

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "dg-"));
    env = { DECKHAND_GUESTS: join(directory, "guests"), DECKHAND_GUEST: "typed" };
  });
  after(async () => {
    if ((await guest("list")).stdout !== "") await guest("down");
    await rm(directory, { recursive: true });
  });

  test("build creates the snapshot that guests are resumed from, once", async () => {
    const { code, stdout } = await guest("build");
    assert.equal(code, 0);
    assert.match(stdout, /^guests are resumed from [0-9a-f]{16}$/m);
    assert.equal((await guest("build")).stdout.trim().split("\n").length, 1);
  });

  test("run executes commands and script files in a guest that stays up", async () => {
    const first = await guest("run", "echo", "hello", ">", "/root/said;", "exit", "5");
    assert.equal(first.code, 5, first.stderr);
    const file = join(directory, "script");
    await writeFile(file, "cat /root/said\necho trouble >&2\n");
    const second = await guest("run", file);
    assert.deepEqual(second, { code: 0, stdout: "hello\n", stderr: "trouble\n" });
    assert.equal((await guest("list")).stdout, "typed\tup\n");
  });

  test("shell opens a root shell, and Ctrl-] leaves it", async () => {
    const child = spawn(process.execPath, [CLI, "shell"], { env: { ...process.env, ...env } });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (/root-sees-2/.test(said)) child.stdin.write("\u001d");
    });
    child.stderr.once("data", () => child.stdin.write("\recho $(whoami)-sees-$((1 + 1))\r"));
    const [code] = (await once(child, "exit")) as [number];
    assert.equal(code, 0);
    assert.match(said, /root-sees-2/);
  });

  test("down ends the guest, and fails when there is none", async () => {
    assert.deepEqual(await guest("down"), { code: 0, stdout: "typed is down, nothing is left\n", stderr: "" });
    assert.equal((await guest("list")).stdout, "");
    const again = await guest("down");
    assert.equal(again.code, 1);
    assert.match(again.stderr, /there is no guest typed/);
  });
});
