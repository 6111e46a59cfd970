import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { directoryOf, HEADER, machine } from "../../../test/support/options.ts";
import { createJournal } from "../../controllers/journal/journal.ts";
import { createHostFiles } from "../../wire/host/files.ts";
import { createMachine } from "../../wire/proc-stats/machine.ts";
import type { CompiledOptions } from "../options/compiled-options.ts";
import { DECKHAND_VERSION, KUBERNETES_VERSION } from "../version.ts";
import { doctorCommand } from "./doctor.ts";
import { runProgram } from "./program.ts";

async function run(name: string, ...args: readonly string[]) {
  const said = { stdout: "", stderr: "" };
  const started: CompiledOptions[] = [];
  const io = {
    clock: new ManualClock(),
    pid: 1,
    machine: () => machine,
    isColored: false,
    isInteractive: false,
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const start = (options: CompiledOptions) => {
    started.push(options);
    return Promise.resolve(7);
  };
  const nobody = () => assert.fail("unexpected call");
  const explainPorts = { files: createHostFiles({ clock: io.clock }), machine: createMachine() };
  const embeddedDoc = (name: string) =>
    name === "sbom" ? Promise.resolve("the bill") : Promise.reject(new Error(`no ${name}`));
  const exitCode = await runProgram({ name, args }, io, start, {
    openOrphans: nobody,
    doctor: (flags, own) => doctorCommand(flags, own, nobody),
    explainPorts,
    readEmbeddedDoc: embeddedDoc,
    runKubectl: nobody,
    askAgent: async (rootDir) => ({ kind: "noAgent", path: `${rootDir}/deckhand/control.sock` }),
  });
  return { exitCode, ...said, started };
}

void test("[1.1] kubelet --version prints what kubeadm parses", async () => {
  for (const args of [["--version"], ["--version=true"], ["--max-pods=3", "--version"]]) {
    const { exitCode, stdout, started } = await run("kubelet", ...args);
    assert.deepEqual([exitCode, stdout, started.length], [0, "Kubernetes v1.36.4\n", 0]);
  }
});

void test("[1.1] kubelet --help prints every flag and starts nothing", async () => {
  const { exitCode, stdout, started } = await run("kubelet", "--help");
  assert.deepEqual([exitCode, started.length], [0, 0]);
  for (const flag of ["--config string", "-v, --v level", "--node-labels labels", "--eviction-hard thresholds"]) {
    assert.ok(stdout.includes(flag), flag);
  }
});

void test("[1.1] an invalid command line logs one line and exits with 1", async () => {
  const { exitCode, stderr, started } = await run("kubelet", "x");
  assert.deepEqual([exitCode, started.length], [1, 0]);
  assert.match(stderr, /^E\d{4} .* kubelet\] "command failed" err="unknown command x"\n$/);
});

void test("[1.3] lenient decoding of the configuration file is logged even when the start fails", async (t) => {
  const directory = directoryOf(t, { "c.yaml": `${HEADER}nope: 1\nmaxPods: -1\n` });
  const { exitCode, stderr } = await run("kubelet", "--config", join(directory, "c.yaml"), "--port=1");
  assert.equal(exitCode, 1);
  assert.match(
    stderr,
    /^Flag --port has been deprecated, .*\n.*"Using lenient decoding as strict decoding failed" err="strict decoding error: unknown field \\"nope\\""\n.*maxPods/,
  );
});

void test("the agent starts with the options and sets the exit code, as kubelet and as deckhand kubelet", async () => {
  for (const [name, ...args] of [
    ["kubelet", "--max-pods=3"],
    ["deckhand", "kubelet", "--max-pods=3"],
  ] as const) {
    const { exitCode, started } = await run(name, ...args);
    assert.deepEqual([exitCode, started.map(({ node }) => node.podsMax)], [7, [3]]);
  }
});

void test("deckhand version prints both versions", async () => {
  const text = `deckhand ${DECKHAND_VERSION} (Kubernetes ${KUBERNETES_VERSION})\n`;
  assert.deepEqual(await run("deckhand", "version"), { exitCode: 0, stdout: text, stderr: "", started: [] });
  assert.equal((await run("deckhand", "--version")).stdout, text);
  const json = await run("deckhand", "version", "-o", "json");
  assert.deepEqual(JSON.parse(json.stdout), { deckhand: DECKHAND_VERSION, kubernetes: KUBERNETES_VERSION });
});

void test("deckhand licences and sbom print the shipped document or an error", async () => {
  assert.deepEqual(await run("deckhand", "sbom"), { exitCode: 0, stdout: "the bill", stderr: "", started: [] });
  const failed = { exitCode: 1, stdout: "", stderr: "error: no licences\n", started: [] };
  assert.deepEqual(await run("deckhand", "licences"), failed);
});

void test("deckhand exits with 2 without a subcommand or with an unknown one", async () => {
  for (const args of [
    [],
    ["nope"],
    ["explain"],
    ["gc"],
    ["gc", "plan", "--output=xml"],
    ["gc", "plan", "extra"],
    ["orphans", "nope"],
    ["version", "--output=xml"],
  ]) {
    const { exitCode, stderr } = await run("deckhand", ...args);
    assert.deepEqual([exitCode, stderr === ""], [2, false], args.join(" "));
  }
});

void test("every command prints its own help and starts nothing", async () => {
  for (const command of [
    "",
    "kubelet",
    "config",
    "config check",
    "doctor",
    "explain",
    "explain pod",
    "why pod",
    "orphans",
    "orphans list",
    "orphans explain",
    "orphans clean",
    "gc",
    "gc plan",
    "licences",
    "sbom",
    "version",
  ]) {
    const { exitCode, stdout, stderr, started } = await run(
      "deckhand",
      ...command.split(" ").filter(Boolean),
      "--help",
    );
    assert.deepEqual([exitCode, stderr, started.length], [0, "", 0], command);
    assert.match(stdout, /^(?:.*\n)*?Usage:/, command);
  }
});

void test("[9.10] gc plan says so and exits with 1 when no agent runs", async () => {
  const { exitCode, stdout, stderr } = await run("deckhand", "gc", "plan", "--root-dir", "/elsewhere/");
  assert.deepEqual([exitCode, stdout], [1, ""]);
  assert.equal(
    stderr,
    "error: no agent runs with the root directory /elsewhere: nothing listens on /elsewhere/deckhand/control.sock\n",
  );
});

void test("[1.5] config check prints each value with its origin, and no secret", async (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}maxPods: 5\nstaticPodURLHeader: {X-Key: [canary]}\nclusterDNS: [1.1.1.1]\nshutdownGracePeriod: 30s\n`,
  });
  const path = join(directory, "c.yaml");
  const { exitCode, stdout, stderr } = await run(
    "deckhand",
    "config",
    "check",
    "--config",
    path,
    "--v=2",
    "--root-dir=/r",
  );
  assert.equal(exitCode, 0);
  const lines = stdout.split("\n").map((line) => line.replaceAll(/ +/g, " "));
  for (const line of [
    `maxPods: 5 # ${path}`,
    "port: 10250 # default",
    "logging.verbosity: 2 # --v",
    '--root-dir: "/r" # command line',
    'syncFrequency: "1m0s" # default',
  ]) {
    assert.ok(lines.includes(line), `${line} in\n${stdout}`);
  }
  assert.ok(!stdout.includes("canary"));
  const waits = "is set, but needs a feature that is not implemented: graceful shutdown of the node";
  const [warning, ...notes] = stderr.trimEnd().split("\n");
  assert.equal(warning, `warning: shutdownGracePeriod (${path}) ${waits}`);
  assert.ok(notes.some((note) => note.startsWith("note: not implemented: graceful shutdown of the node (")));
  const json = await run("deckhand", "config", "check", "-o", "json", "--config", path, "--root-dir=/r");
  const checked = JSON.parse(json.stdout) as Record<"fields" | "flags", readonly object[]> &
    Record<"warnings" | "notImplemented", readonly string[]>;
  assert.equal(checked.notImplemented.length, notes.length);
  assert.deepEqual(checked.warnings, [`shutdownGracePeriod (${path}) ${waits}`]);
  assert.deepEqual(
    checked.fields.find((field) => "name" in field && field.name === "maxPods"),
    { name: "maxPods", value: 5, origin: path },
  );
  assert.ok(checked.flags.some((flag) => "name" in flag && flag.name === "--root-dir"));
  assert.equal((await run("deckhand", "config", "check", "-o", "xml")).exitCode, 2);
});

void test("[1.9] config check exits with 1 when the kubelet would not start", async () => {
  const { exitCode, stderr } = await run("deckhand", "config", "check", "--max-pods=-1");
  assert.equal(exitCode, 1);
  assert.match(stderr, /^error: failed to validate kubelet configuration, error: invalid configuration: maxPods/);
  assert.equal((await run("deckhand", "config", "check", "--kubeconfig=/none")).exitCode, 1);
});

void test("explain pod explains from the journal alone, writes nothing, and exits with 0, 1 or 2", async (t) => {
  const directory = directoryOf(t, {});
  const files = createHostFiles({ clock: new ManualClock() });
  const journal = createJournal({
    files,
    directory: join(directory, "deckhand/journal"),
    clock: new ManualClock(),
    onProblem: (problem) => assert.fail(JSON.stringify(problem)),
  });
  await journal.replay();
  const web = { uid: "u1", pod: "shop/web", wallMs: 0 };
  await journal.append({ kind: "admitted", ...web });
  await journal.append({ kind: "rejected", ...web, uid: "u2", reason: "NodePorts", message: "no free ports" });
  const explain = (...args: readonly string[]) =>
    run("deckhand", "explain", "pod", ...args, `--root-dir=${directory}/`);

  const reported = await explain("shop/web");
  assert.equal(reported.exitCode, 0);
  assert.match(
    reported.stdout,
    /^Pod shop\/web, UID u2, .*\n\nThis node rejected the pod at 00:00:00: NodePorts: no free ports\.\n\n/,
  );
  assert.match(
    reported.stdout,
    /\nBefore that, pods of the same name:\n {2}u1, 00:00:00 to 00:00:00: The pod was admitted/,
  );
  const json = await explain("shop/web", "--output", "json", "--uid", "u1");
  const { uid, sentence } = JSON.parse(json.stdout) as Readonly<Record<string, unknown>>;
  assert.deepEqual([uid, sentence], ["u1", "The pod was admitted and is being set up."]);

  for (const same of [
    ["web", "-n", "shop"],
    ["web", "--namespace=shop"],
    ["shop/web", "-n", "shop"],
  ]) {
    assert.equal((await explain(...same)).stdout, reported.stdout, same.join(" "));
  }
  const why = await run("deckhand", "why", "pod", "web", "-n", "shop", `--root-dir=${directory}`);
  assert.equal(why.stdout, reported.stdout);
  const elsewhere = await explain("web");
  assert.match(elsewhere.stderr, /^default\/web is not known to this node/);

  const near = await explain("shop/wep");
  assert.deepEqual([near.exitCode, near.stdout], [1, ""]);
  assert.match(near.stderr, /^shop\/wep is not known to this node \(.*\)\.\nDid you mean: shop\/web\n$/);
  const other = await explain("shop/web", "--uid=u3");
  assert.match(
    other.stderr,
    /^shop\/web with the UID u3 is not known .*\nKnown UIDs of pods with this name: u1, u2\n$/,
  );
  assert.equal(other.exitCode, 1);
  const nothing = await run("deckhand", "explain", "pod", "shop/web", "--root-dir", join(directory, "nowhere"));
  assert.deepEqual(
    [nothing.exitCode, /^.*\nThe journal is empty\. Is --root-dir correct\?\n$/.test(nothing.stderr)],
    [1, true],
  );

  for (const args of [[], ["a/b", "c/d"], ["a/b/c"], ["a/b", "--output=xml"], ["a/b", "--nope"], ["a/b", "-n", "c"]]) {
    const { exitCode, stderr } = await explain(...args);
    assert.deepEqual([exitCode, /^error: .*\n\nUsage: /.test(stderr)], [2, true], args.join(" "));
  }
  const help = await run("deckhand", "explain", "pod", "--help");
  assert.deepEqual([help.exitCode, help.stdout.startsWith("Usage: deckhand explain pod")], [0, true]);
  assert.deepEqual(
    await files.list(join(directory, "deckhand/journal")),
    ["journal-00000001.log"],
    "nothing is written",
  );
});
