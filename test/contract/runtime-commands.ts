/** Contract: commands in containers, streaming URLs, logs, resources, checkpoints. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createContainer,
  ended,
  eventually,
  failure,
  patient,
  type RuntimeWorld,
  runSandbox,
  startContainer,
  statusOf,
  took,
} from "./runtime-world.ts";

/** Runtimes omit trailing zeros of the fraction. */
const LOG_LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([FP]) (.*)$/;
const OUTPUT = { stdin: false, stdout: true, stderr: true, tty: false } as const;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

export function commandContract(world: () => RuntimeWorld): void {
  test("execSync returns stdout, stderr and the exit code, also when that is not 0", async (t) => {
    const id = await running(world(), t);
    const command = world().command({ kind: "print", stdout: "out", stderr: "err", code: 3 });
    const { stdout, stderr, exitCode } = await world().runtime.execSync(id, command, 10, patient);
    assert.deepEqual([text(stdout), text(stderr), exitCode], ["out", "err", 3]);
  });

  test("execSync without a timeout runs until the command exits", async (t) => {
    const id = await running(world(), t);
    const { exitCode } = await world().runtime.execSync(id, world().command({ kind: "exit", code: 0 }), 0, patient);
    assert.equal(exitCode, 0);
  });

  test("execSync passes every byte through unchanged", async (t) => {
    const id = await running(world(), t);
    const { stdout } = await world().runtime.execSync(id, world().command({ kind: "printAllBytes" }), 10, patient);
    assert.deepEqual(
      [...stdout],
      Array.from({ length: 256 }, (_, byte) => byte),
    );
  });

  test("execSync ends a command at its timeout with deadlineExceeded", async (t) => {
    const id = await running(world(), t);
    const late = world().runtime.execSync(id, world().command({ kind: "untilKill" }), 1, patient);
    const lateMs = await took(world(), () => assert.rejects(late, failure("ExecSync", "deadlineExceeded")));
    assert.ok(lateMs >= 900 && lateMs < 6_000, `took ${lateMs} ms`);
    assert.equal((await statusOf(world(), id)).state, "running");
  });

  test("execSync returns notFound for a missing container, and unknown for a missing command or an exited container", async (t) => {
    const id = await running(world(), t);
    const exec = (container: string, kind: "missing" | "untilKill") =>
      world().runtime.execSync(container, world().command({ kind }), 5, patient);
    await assert.rejects(exec("never-was", "untilKill"), failure("ExecSync", "notFound"));
    await assert.rejects(exec(id, "missing"), failure("ExecSync", "unknown"));
    await world().runtime.stopContainer(id, 0, patient);
    await assert.rejects(exec(id, "untilKill"), failure("ExecSync", "unknown"));
  });

  test("an aborted execSync rejects with the caller's reason at once", async (t) => {
    const id = await running(world(), t);
    const caller = new AbortController();
    const reason = new Error("enough");
    const call = world().runtime.execSync(id, world().command({ kind: "untilKill" }), 60, caller.signal);
    await world().pass(200);
    caller.abort(reason);
    const waitedMs = await took(world(), () => assert.rejects(call, (error) => error === reason));
    assert.ok(waitedMs < 500, `took ${waitedMs} ms`);
    assert.equal((await statusOf(world(), id)).state, "running");
  });

  test("exec, attach and portForward each return their own URL", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    const { runtime } = world();
    const urls = [
      await runtime.exec(id, world().command({ kind: "exit", code: 0 }), OUTPUT, patient),
      await runtime.attach(id, OUTPUT, patient),
      await runtime.portForward(sandbox.id, [80, 8080], patient),
    ];
    for (const url of urls) assert.match(new URL(url).protocol, /^https?:$/);
    assert.equal(new Set(urls).size, 3);
  });

  test("exec, attach and portForward return notFound for a missing container or sandbox", async () => {
    const { runtime } = world();
    const command = world().command({ kind: "exit", code: 0 });
    await assert.rejects(runtime.exec("never-was", command, OUTPUT, patient), failure("Exec", "notFound"));
    await assert.rejects(runtime.attach("never-was", OUTPUT, patient), failure("Attach", "notFound"));
    await assert.rejects(runtime.portForward("never-was", [80], patient), failure("PortForward", "notFound"));
  });

  test("exec and attach return unknown for an exited container", async (t) => {
    const id = await running(world(), t);
    await world().runtime.stopContainer(id, 0, patient);
    const command = world().command({ kind: "exit", code: 0 });
    await assert.rejects(world().runtime.exec(id, command, OUTPUT, patient), failure("Exec", "unknown"));
    await assert.rejects(world().runtime.attach(id, OUTPUT, patient), failure("Attach", "unknown"));
  });

  test("every log line has a timestamp, its stream, and a tag for full or partial", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const program = { kind: "print", stdout: "one\ntwo\n", stderr: "half", code: 0 } as const;
    const { logPath } = await ended(world(), await startContainer(world(), sandbox, "a", program));
    // The runtime may write the last line, in pieces, shortly after it reports the exit.
    let log = "";
    await eventually(world(), "the end of both streams", async () => {
      log = await world().readLog(logPath);
      return log.includes(" two\n") && log.includes(" half\n");
    });
    const lines = log.trimEnd().split("\n");
    const parts = lines.map((line) => LOG_LINE.exec(line)?.slice(1).join(" ") ?? `not a log line: ${line}`);
    const of = (stream: string) => parts.filter((part) => part.startsWith(stream));
    assert.deepEqual(of("stdout"), ["stdout F one", "stdout F two"]);
    assert.deepEqual(of("stderr"), ["stderr P half"]);
    assert.equal(parts.length, 3);
  });

  test("reopenLog after a rename writes to a new log, and the renamed log stops growing", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "tick" });
    const { logPath } = await statusOf(world(), id);
    const grown = (path: string) => async () =>
      (await world()
        .readLog(path)
        .catch(() => "")) !== "";
    await eventually(world(), "the first line", grown(logPath));
    await world().renameLog(logPath, `${logPath}.1`);
    await world().runtime.reopenLog(id, patient);
    await eventually(world(), "a line in the new log", grown(logPath));
    const rotated = await world().readLog(`${logPath}.1`);
    await world().pass(300);
    assert.equal(await world().readLog(`${logPath}.1`), rotated);
  });

  test("reopenLog returns notFound for a missing container, and unknown for one that is not running", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await createContainer(world(), sandbox, "a", { kind: "untilKill" });
    await assert.rejects(world().runtime.reopenLog("never-was", patient), failure("ReopenContainerLog", "notFound"));
    await assert.rejects(world().runtime.reopenLog(id, patient), failure("ReopenContainerLog", "unknown"));
  });

  test("environment values keep UTF-8 text, and U+FFFD replaces invalid bytes", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const value = new TextEncoder().encode("ünï\n$(x) 'q' €");
    const environment = [
      { name: "TEXT", value },
      { name: "RAW", value: new Uint8Array([0xff, 0x41, 0xfe]) },
    ];
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" }, { environment });
    const print = async (name: string) =>
      (await world().runtime.execSync(id, world().command({ kind: "printVariable", name }), 10, patient)).stdout;
    assert.deepEqual(await print("TEXT"), value);
    assert.equal(text(await print("RAW")), "\ufffdA\ufffd");
  });

  test("updated resources of a running container are in its status and are enforced", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const resources = { memoryLimitBytes: 64n * 2n ** 20n, cpuShares: 512 };
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" }, { resources });
    assert.equal(await world().memoryLimitBytes(sandbox.config, id), resources.memoryLimitBytes);
    const wanted = { memoryLimitBytes: 96n * 2n ** 20n, cpuShares: 256, cpuQuotaUs: 20_000, cpuPeriodUs: 100_000 };
    await world().runtime.updateContainerResources(id, wanted, { why: "resize" }, patient);
    const { resources: found } = await statusOf(world(), id);
    assert.deepEqual(
      [found?.memoryLimitBytes, found?.cpuShares, found?.cpuQuotaUs, found?.cpuPeriodUs],
      [wanted.memoryLimitBytes, wanted.cpuShares, wanted.cpuQuotaUs, wanted.cpuPeriodUs],
    );
    assert.equal(await world().memoryLimitBytes(sandbox.config, id), wanted.memoryLimitBytes);
  });

  test("updateContainerResources returns notFound for a missing container, and has no effect on an exited one", async (t) => {
    const id = await running(world(), t);
    await world().runtime.stopContainer(id, 0, patient);
    await world().runtime.updateContainerResources(id, { cpuShares: 256 }, {}, patient);
    await assert.rejects(
      world().runtime.updateContainerResources("never-was", { cpuShares: 256 }, {}, patient),
      failure("UpdateContainerResources", "notFound"),
    );
  });

  test("updateContainerResources rejects values that are no safe integers before it calls the runtime", async (t) => {
    const id = await running(world(), t);
    const refused = failure("UpdateContainerResources", "invalidArgument");
    for (const cpuShares of [1.5, Number.NaN, 2 ** 60]) {
      await assert.rejects(world().runtime.updateContainerResources(id, { cpuShares }, {}, patient), refused);
    }
  });

  test("checkpoint without the checkpoint tool returns unknown, and the container keeps running", async (t) => {
    const sandbox = await runSandbox(world(), t);
    const id = await startContainer(world(), sandbox, "a", { kind: "untilKill" });
    const location = `${sandbox.config.logDirectory}/checkpoint.tar`;
    await assert.rejects(
      world().runtime.checkpoint(id, location, 5, patient),
      failure("CheckpointContainer", "unknown"),
    );
    assert.equal((await statusOf(world(), id)).state, "running");
  });
}

async function running(world: RuntimeWorld, t: Parameters<typeof runSandbox>[1]): Promise<string> {
  return startContainer(world, await runSandbox(world, t), "a", { kind: "untilKill" });
}
