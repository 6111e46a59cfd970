import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { folderOf, HEADER, machine } from "../../../test/support/options.ts";
import { createJournal } from "../../controllers/journal/journal.ts";
import { createHostFiles } from "../../wire/host/files.ts";
import { createMachine } from "../../wire/proc-stats/machine.ts";
import type { CompiledOptions } from "../options/compiled-options.ts";
import { DECKHAND_VERSION, KUBERNETES_VERSION } from "../version.ts";
import { runProgram } from "./program.ts";

async function run(name: string, ...args: readonly string[]) {
  const said = { stdout: "", stderr: "" };
  const started: CompiledOptions[] = [];
  const io = {
    clock: new ManualClock(),
    pid: 1,
    machine: () => machine,
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const start = (options: CompiledOptions) => {
    started.push(options);
    return Promise.resolve(7);
  };
  const nobody = () => assert.fail("nobody asked for it");
  const explainPorts = { files: createHostFiles({ clock: io.clock }), machine: createMachine() };
  const paper = (name: string) =>
    name === "sbom" ? Promise.resolve("the bill") : Promise.reject(new Error(`no ${name}`));
  const exitCode = await runProgram({ name, args }, io, start, {
    openOrphans: nobody,
    doctor: nobody,
    explainPorts,
    readPaper: paper,
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

void test("[1.1] a wrong command line is one line of the log and exit code 1", async () => {
  const { exitCode, stderr, started } = await run("kubelet", "x");
  assert.deepEqual([exitCode, started.length], [1, 0]);
  assert.match(stderr, /^E\d{4} .* kubelet\] "command failed" err="unknown command x"\n$/);
});

void test("[1.3] that a file was read leniently is said even when the start fails", async (t) => {
  const folder = folderOf(t, { "c.yaml": `${HEADER}nope: 1\nmaxPods: -1\n` });
  const { exitCode, stderr } = await run("kubelet", "--config", join(folder, "c.yaml"), "--port=1");
  assert.equal(exitCode, 1);
  assert.match(
    stderr,
    /^Flag --port has been deprecated, .*\n.*"Using lenient decoding as strict decoding failed" err="strict decoding error: unknown field \\"nope\\""\n.*maxPods/,
  );
});

void test("the agent is started with the options, and its exit code is the program's, under both names", async () => {
  for (const [name, ...args] of [
    ["kubelet", "--max-pods=3"],
    ["deckhand", "kubelet", "--max-pods=3"],
  ] as const) {
    const { exitCode, started } = await run(name, ...args);
    assert.deepEqual([exitCode, started.map(({ node }) => node.podsMax)], [7, [3]]);
  }
});

void test("deckhand version names both versions", async () => {
  const text = `deckhand ${DECKHAND_VERSION} (Kubernetes ${KUBERNETES_VERSION})\n`;
  assert.deepEqual(await run("deckhand", "version"), { exitCode: 0, stdout: text, stderr: "", started: [] });
  assert.equal((await run("deckhand", "--version")).stdout, text);
});

void test("deckhand licences and sbom print what is shipped, or say why they cannot", async () => {
  assert.deepEqual(await run("deckhand", "sbom"), { exitCode: 0, stdout: "the bill", stderr: "", started: [] });
  const failed = { exitCode: 1, stdout: "", stderr: "error: no licences\n", started: [] };
  assert.deepEqual(await run("deckhand", "licences"), failed);
});

void test("deckhand alone prints its usage, an unknown subcommand is refused, both with exit code 1", async () => {
  assert.deepEqual([(await run("deckhand")).exitCode, (await run("deckhand", "nope")).exitCode], [1, 1]);
});

void test("[1.5] config check prints each value with where it came from, and no secret", async (t) => {
  const folder = folderOf(t, {
    "c.yaml": `${HEADER}maxPods: 5\nstaticPodURLHeader: {X-Key: [canary]}\nclusterDNS: [1.1.1.1]\nimageMaximumGCAge: 1h\n`,
  });
  const path = join(folder, "c.yaml");
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
  const waits = "is set, but waits for what is not built yet: garbage collection of images";
  assert.equal(stderr, `warning: imageMaximumGCAge (${path}) ${waits}\n`);
});

void test("[1.9] config check ends with 1 when the kubelet would not start", async () => {
  const { exitCode, stderr } = await run("deckhand", "config", "check", "--max-pods=-1");
  assert.equal(exitCode, 1);
  assert.match(stderr, /^error: failed to validate kubelet configuration, error: invalid configuration: maxPods/);
  assert.equal((await run("deckhand", "config", "check", "--kubeconfig=/none")).exitCode, 1);
});

void test("explain pod says why, from the journal's files alone, and ends with 0, 1 or 2", async (t) => {
  const folder = folderOf(t, {});
  const files = createHostFiles({ clock: new ManualClock() });
  const journal = createJournal({
    files,
    folder: join(folder, "deckhand/journal"),
    clock: new ManualClock(),
    onProblem: (problem) => assert.fail(JSON.stringify(problem)),
  });
  await journal.replay();
  const web = { uid: "u1", pod: "shop/web", wallMs: 0 };
  await journal.append({ kind: "admitted", ...web });
  await journal.append({ kind: "rejected", ...web, uid: "u2", reason: "NodePorts", message: "no free ports" });
  const explain = (...args: readonly string[]) => run("deckhand", "explain", "pod", ...args, `--root-dir=${folder}/`);

  const told = await explain("shop/web");
  assert.equal(told.exitCode, 0);
  assert.match(
    told.stdout,
    /^Pod shop\/web, UID u2, .*\n\nThis node did not take it in, at 00:00:00: NodePorts: no free ports\.\n\n/,
  );
  assert.match(told.stdout, /\nBefore that, pods of the same name:\n {2}u1, 00:00:00 to 00:00:00: It was taken in/);
  const json = await explain("shop/web", "--output", "json", "--uid", "u1");
  const { uid, sentence } = JSON.parse(json.stdout) as Readonly<Record<string, unknown>>;
  assert.deepEqual([uid, sentence], ["u1", "It was taken in and is being set up."]);

  const near = await explain("shop/wep");
  assert.deepEqual([near.exitCode, near.stdout], [1, ""]);
  assert.match(near.stderr, /^shop\/wep is not known to this node \(.*\)\.\nDid you mean: shop\/web\n$/);
  const other = await explain("shop/web", "--uid=u3");
  assert.match(other.stderr, /^shop\/web with the UID u3 is not known .*\nPods of that name that it knows: u1, u2\n$/);
  assert.equal(other.exitCode, 1);
  const nothing = await run("deckhand", "explain", "pod", "shop/web", "--root-dir", join(folder, "nowhere"));
  assert.deepEqual([nothing.exitCode, /no record at all/.test(nothing.stderr)], [1, true]);

  for (const args of [[], ["web"], ["a/b", "c/d"], ["a/b/c"], ["a/b", "--output=xml"], ["a/b", "--nope"]]) {
    const { exitCode, stderr } = await explain(...args);
    assert.deepEqual([exitCode, /^error: .*\n\nusage: /.test(stderr)], [2, true], args.join(" "));
  }
  const help = await run("deckhand", "explain", "pod", "--help");
  assert.deepEqual([help.exitCode, help.stdout.startsWith("usage: deckhand explain pod")], [0, true]);
  assert.deepEqual(await files.list(join(folder, "deckhand/journal")), ["journal-00000001.log"], "nothing is written");
});
