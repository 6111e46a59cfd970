/**
 * The Go kubelet and Deckhand get the same wrong command lines and files, and must exit with the same code and the same
 * essential text. Each process exits by itself; one that does not is killed, and the test fails. The Go kubelet's
 * outcomes are recorded.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { GATES } from "../../src/app/options/feature-gate-table.ts";
import { FLAGS } from "../../src/app/options/flag-table.ts";
import { buildParts } from "../cluster/parts.ts";
import { Recording } from "../golden/recording.ts";
import { deckhandTest, SIDES, type Side } from "../golden/sides.ts";
import { builtBundle } from "../support/built-program.ts";

const HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
/** Far above what either program needs, so that a busy machine does not look like a kubelet that hangs. */
const LIMIT_MS = 30_000;
/** Every process has its own directory; a start uses mostly one core. */
const AT_ONCE = { concurrency: 3 };

const recording = Recording.open("options-differential");

type Files = Readonly<Record<string, string>>;

interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let scratch = "";
const programs = new Map<Side, readonly [program: string, ...args: readonly string[]]>();

before(async () => {
  scratch = mkdtempSync(join(tmpdir(), "deckhand-options-"));
  for (const side of SIDES) programs.set(side, await programOf(side));
});

after(() => rmSync(scratch, { recursive: true, force: true }));

async function programOf(side: Side): Promise<readonly [program: string, ...args: readonly string[]]> {
  if (side === "go") return [(await buildParts()).path("kubelet")];
  const kubelet = join(scratch, "bin", "kubelet");
  mkdirSync(dirname(kubelet));
  symlinkSync(await builtBundle(), kubelet);
  return [process.execPath, kubelet];
}

/** Runs the side's program in a new directory with the files. The output has a placeholder for the directory's name. */
async function run(side: Side, args: readonly string[], files: Files = {}): Promise<Outcome> {
  const directory = mkdtempSync(join(scratch, "run-"));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  }
  const [program, ...first] = programs.get(side) ?? assert.fail(`${side} does not run`);
  // Neither program may write to the machine's own directories.
  const aside = ["--root-dir", join(directory, "root"), "--cert-dir", join(directory, "pki")];
  const outcome = await ended(program, [...first, ...aside, ...args], directory);
  const neutral = (text: string) => text.replaceAll(directory, "<directory>");
  return { ...outcome, stdout: neutral(outcome.stdout), stderr: neutral(outcome.stderr) };
}

function ended(program: string, args: readonly string[], directory: string): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(program, args, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  child.on("error", reject);
  child.on("close", (exitCode) => {
    clearTimeout(timer);
    resolve({ exitCode, ...output });
  });
  return promise;
}

/**
 * The error in the last line of the log, without the paths of Go's sources and Go's dump of the whole configuration.
 */
function errorOf({ stderr }: Outcome): string {
  const quoted = /"command failed" err=(".*")\n$/.exec(stderr)?.[1];
  const text =
    quoted === undefined
      ? /"command failed" err=<\n([\s\S]*)\n >\n$/.exec(stderr)?.[1]
      : (JSON.parse(quoted) as string);
  return (text ?? `no error in: ${stderr.slice(-500)}`)
    .replaceAll("\n\t", "\n")
    .trim()
    .replace(/, path: &TypeMeta[\s\S]*$/, "")
    .replace(/ in scheme "[^"]*"$/, "")
    .replace(/cannot unmarshal (\w+) into Go value of type struct .*$/, "cannot unmarshal $1 into Go value");
}

const deprecationsOf = ({ stderr }: Outcome) => stderr.split("\n").filter((line) => line.startsWith("Flag --"));

const lenientOf = ({ stderr }: Outcome) => /"Using lenient decoding[\s\S]*?(?=\nE)/.exec(stderr)?.[0] ?? "";

/** The output of a program that rejects its options. The program must exit with 1. */
async function rejected(side: Side, args: readonly string[], files?: Files) {
  const outcome = await run(side, args, files);
  assert.equal(outcome.exitCode, 1);
  return {
    exitCode: outcome.exitCode,
    error: errorOf(outcome),
    deprecations: deprecationsOf(outcome),
    lenient: lenientOf(outcome),
  };
}

const FLAG_CASES: readonly (readonly [string, ...(readonly string[])])[] = [
  ["1.1", "x"],
  ["1.1", "--v=2", "--", "x"],
  ["1.1", "--nope"],
  ["1.1", "--max_pods=abc"],
  ["1.2", "--nope"],
  ["1.2", "--no_pe=1"],
  ["1.2", "--pod-infra-container-image=x"],
  ["1.2", "--runonce", "--fail-cgroupv1=false"],
  ["1.2", "-z"],
  ["1.2", "-vz"],
  ["1.2", "--max-pods"],
  ["1.2", "--max-pods=abc"],
  ["1.2", "--max-pods=99999999999"],
  ["1.2", "--max_pods=0_"],
  ["1.2", "--anonymous-auth=maybe"],
  ["1.2", "--sync-frequency=5"],
  ["1.2", "--sync-frequency=1y"],
  ["1.2", "--address=zzz"],
  ["2.5", "--tls-min-version=1.2"],
  ["2.5", "--tls-cipher-suites=TLS_NONE"],
  ["1.2", "--eviction-hard=memory.available=1"],
  ["1.2", "--kube-reserved=cpu"],
  ["1.2", "--manifest-url-header=a"],
  ["1.2", "--register-with-taints=a"],
  ["1.2", "--register-with-taints=a:Nope"],
  ["1.2", "--register-with-taints=a:NoSchedule,a:NoSchedule"],
  ["1.2", "--reserved-memory=x"],
  ["1.2", "--reserved-memory=0:cpu=1"],
  ["1.2", "--v=x"],
  ["1.2", "--vmodule=a"],
  ["1.2", "--node-labels=kubernetes.io/x=y"],
  ["1.10", "--feature-gates=Nope=true"],
  ["1.10", "--feature-gates=NodeSwap=false"],
  ["1.10", "--feature-gates=NodeSwap"],
  ["1.10", "--feature-gates=NodeSwap=maybe"],
  ["1.10", "--feature-gates=GracefulNodeShutdown=false,WindowsGracefulNodeShutdown=false"],
  ["1.9", "--max_pods=-2", "--fail-cgroupv1=false", "--port", "0"],
  ["1.9", "--logging-format=xml"],
  ["1.9", "--log-flush-frequency=-1s"],
  ["1.9", "--cgroups-per-qos=false", "--fail-cgroupv1=false"],
  ["1.9", "--enforce-node-allocatable=kube-reserved,none,x,pods,pods", "--fail-cgroupv1=false"],
  ["1.9", "--reserved-cpus=3-1", "--fail-cgroupv1=false"],
  ["1.9", "--exit-on-lock-contention", "--fail-cgroupv1=false"],
  ["1.12", "--authentication-token-webhook", "--fail-cgroupv1=false"],
  ["1.12", "--authorization-mode=Webhook", "--fail-cgroupv1=false"],
  // The machines of this suite have cgroup v1, on which neither program runs unless its options allow it.
  ["14.1", "--v=0"],
  ["14.1", "--fail-cgroupv1=true", "--cgroup-driver=systemd"],
  ["1.3", "--config=none.yaml"],
  ["1.4", "--config-dir=none"],
];

void suite("the Go kubelet and Deckhand reject the same command lines with the same words", AT_ONCE, () => {
  for (const [row, ...args] of FLAG_CASES) {
    test(`[${row}] ${args.join(" ")}`, () => recording.check(args.join(" "), (side) => rejected(side, args)));
  }
});

// The Go kubelet queries its runtime first. In upstream's sources: cmd/kubelet/app/server.go, getReservedCPUs.
void deckhandTest("[1.29] Deckhand rejects reserved CPUs that this machine has not got", async () => {
  const online = (await readFile("/sys/devices/system/cpu/online", "utf8")).trim();
  const { exitCode, error } = await rejected("deckhand", ["--reserved-cpus=0-60000", "--fail-cgroupv1=false"]);
  assert.equal(exitCode, 1);
  assert.equal(error, `failed to run Kubelet: reserved-cpus: 0-60000 is not a subset of online-cpus: ${online}`);
});

// In upstream's sources: cmd/kubelet/app/server.go, NewKubeletCommand, and server_linux.go, checkPermissions.
void deckhandTest("[1.27] Deckhand says that it does not run as root, once, and goes on", async () => {
  const [program, ...first] = programs.get("deckhand") ?? assert.fail("deckhand does not run");
  const args = ["--reserved-cpus=0-60000", "--fail-cgroupv1=false"];
  // Root in a user namespace that maps root to another UID: the program's files stay readable.
  const outcome = await ended("unshare", ["--user", "--map-user=65534", program, ...first, ...args], scratch);
  const said = outcome.stderr.split("\n").filter((line) => line.includes("insufficient permissions"));
  assert.equal(said.length, 1, outcome.stderr);
  assert.match(
    said[0] ?? "",
    /"Kubelet running with insufficient permissions" err="kubelet needs to run as uid `0`\. It is being run as 65534"/,
  );
  assert.match(errorOf(outcome), /^failed to run Kubelet: reserved-cpus: /);
});

const INVALID = "port: -1\n";
const FILE_CASES: readonly (readonly [row: string, text: string])[] = [
  ["1.3", `${HEADER}nope: 1\n${INVALID}`],
  [
    "1.3",
    `${HEADER}maxPods: -1\nmaxPods: -2\nzzz: 1\naaa: {b: 1}\nregisterWithTaints: [{key: a, effect: NoSchedule, foo: 1}]\n`,
  ],
  ["1.3", `${HEADER}maxPods: "1"\n`],
  ["1.3", `${HEADER}maxPods: 1.5\n`],
  ["1.3", `${HEADER}maxPods: 99999999999\n`],
  ["1.3", `${HEADER}syncFrequency: 5\n`],
  ["1.3", `${HEADER}syncFrequency: 5x\n`],
  ["1.3", `${HEADER}evictionHard: [a]\n`],
  ["1.3", `${HEADER}evictionHard: {a: 1}\n`],
  ["1.3", `${HEADER}enableServer: "yes"\n`],
  ["1.3", `${HEADER}enableServer: yes\nmaxPods: 0x10\n${INVALID}`],
  ["1.3", `${HEADER}logging: {verbosity: -1}\n`],
  ["1.3", `${HEADER}logging: {nope: 1, format: xml}\n`],
  ["1.3", `${HEADER}MaxPods: 5\n${INVALID}`],
  ["1.3", `${HEADER}maxPods: null\nhealthzPort: 0\n${INVALID}`],
  ["1.3", `${HEADER}${INVALID}---\n${HEADER}port: -2\n`],
  ["1.3", "{}"],
  ["1.3", "just text"],
  ["1.3", "[1]"],
  ["1.3", ""],
  ["1.3", "apiVersion: v1\nkind: Pod\n"],
  ["1.3", "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n"],
  ["1.3", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: CredentialProviderConfig\nproviders: []\n"],
  ["1.3", JSON.stringify({ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration", port: -3 })],
  [
    "1.9",
    `${HEADER}nodeLeaseDurationSeconds: -1\nsystemCgroups: /a\neventBurst: -1\neventRecordQPS: -1\nhealthzPort: 65536\ncpuCFSQuotaPeriod: 2s\nimageGCHighThresholdPercent: 101\nimageGCLowThresholdPercent: 101\n`,
  ],
  [
    "1.9",
    `${HEADER}imageMinimumGCAge: 2s\nimageMaximumGCAge: 1s\niptablesDropBit: 32\niptablesMasqueradeBit: -1\nkubeAPIBurst: -1\nkubeAPIQPS: -1\nnodeStatusMaxImages: -2\nmaxOpenFiles: -1\nmaxPods: -1\noomScoreAdj: 1001\npodsPerCore: -1\n${INVALID}`,
  ],
  [
    "1.9",
    `${HEADER}readOnlyPort: 65536\nregistryBurst: -1\nregistryPullQPS: -1\nmaxParallelImagePulls: 2\nserializeImagePulls: true\nrunOnce: true\nregisterWithTaints: [{key: "", effect: x}]\ntopologyManagerPolicy: x\ntopologyManagerScope: y\n`,
  ],
  [
    "1.9",
    `${HEADER}shutdownGracePeriod: 500ms\nshutdownGracePeriodCriticalPods: 2s\nshutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 1}]\nmemorySwap: {swapBehavior: x}\ncrashLoopBackOff: {maxContainerRestartPeriod: 301s}\n`,
  ],
  [
    "1.9",
    `${HEADER}enforceNodeAllocatable: [pods, pods, x, none, system-reserved, system-reserved-compressible]\ncgroupsPerQOS: false\nhairpinMode: x\nimagePullCredentialsVerificationPolicy: x\npreloadedImagesVerificationAllowlist: [a]\n`,
  ],
  [
    "1.9",
    `${HEADER}imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["a:1"]\nreservedSystemCPUs: "a"\nkubeReservedCgroup: /k\nreservedMemory: [{numaNode: 0, limits: {cpu: "0"}}]\n`,
  ],
  [
    "1.9",
    `${HEADER}failCgroupV1: false\nsingleProcessOOMKill: false\nshowHiddenMetricsForVersion: "1.2"\ntracing: {endpoint: "http://x", samplingRatePerMillion: -1}\nmemoryThrottlingFactor: 1.5\nmemoryReservationPolicy: x\n`,
  ],
  [
    "1.9",
    `${HEADER}failCgroupV1: false\nuserNamespaces: {idsPerPod: 65537}\nenableSystemLogQuery: true\nenableSystemLogHandler: false\ncontainerLogMaxWorkers: 0\ncontainerLogMonitorInterval: 1s\ncontainerLogMaxFiles: 1\npodLogsDir: /a/../é\n`,
  ],
  ["1.28", `${HEADER}failCgroupV1: false\ncgroupsPerQOS: false\n`],
];

void suite("the Go kubelet and Deckhand reject the same files with the same words", AT_ONCE, () => {
  for (const [index, [row, text]] of FILE_CASES.entries()) {
    test(`[${row}] file ${index}: ${text.replace(HEADER, "").slice(0, 60).replaceAll("\n", " ")}`, () =>
      recording.check(`file: ${text}`, (side) => rejected(side, ["--config", "c.yaml"], { "c.yaml": text })));
  }

  test("[1.3] both errors name a line of a file that is not YAML", () => {
    const files = { "c.yaml": `${HEADER}a: [\n` };
    return recording.check("no YAML", async (side) => {
      const { error, ...others } = await rejected(side, ["--config", "c.yaml"], files);
      // The parsers count lines and name the error differently.
      return { ...others, error: error.replace(/(error failed to decode: yaml: line )\d+: [\s\S]*/, "$1<number>") };
    });
  });

  test("[1.10] an unknown feature gate in a file stops both: the Go kubelet panics, Deckhand reports an error", () => {
    const files = { "c.yaml": `${HEADER}featureGates: {Nope: true}\n` };
    return recording.check("a wrong gate in a file", async (side) => {
      const outcome = await run(side, ["--config", "c.yaml"], files);
      assert.equal(outcome.exitCode, side === "go" ? 2 : 1);
      const text = side === "go" ? (/panic: (.*)/.exec(outcome.stderr)?.[1] ?? outcome.stderr) : errorOf(outcome);
      return /unrecognized feature gate: Nope(?="?\)?$)/.exec(text)?.[0] ?? text;
    });
  });
});

const DROP_INS: readonly (readonly [name: string, files: Readonly<Record<string, string>>])[] = [
  ["without a kind", { "a.conf": "maxPods: 3\n" }],
  ["of another kind", { "a.conf": "apiVersion: v1\nkind: X\n" }],
  ["of a wrong type", { "a.conf": `${HEADER}maxPods: "x"\n` }],
  [
    "the later one wins, directories below too, unknown fields do not count",
    { "a.conf": `${HEADER}port: -1\nnope: 1\n`, "b/c.conf": `${HEADER}port: -2\n`, "d.yaml": `${HEADER}port: -3\n` },
  ],
  [
    "lists replaced, maps merged, null defaulted",
    {
      "a.conf": `${HEADER}port: null\nenforceNodeAllocatable: [x]\nnodeStatusMaxImages: -3\n`,
      "b.conf": `${HEADER}enforceNodeAllocatable: [y]\n`,
    },
  ],
];

void suite("the Go kubelet and Deckhand merge drop-ins alike", AT_ONCE, () => {
  for (const [name, dropIns] of DROP_INS) {
    test(`[1.4] ${name}`, async () => {
      const files = {
        ...Object.fromEntries(Object.entries(dropIns).map(([file, text]) => [join("d", file), text])),
        "c.yaml": `${HEADER}port: -9\nenforceNodeAllocatable: []\n`,
      };
      for (const args of [["--config-dir=d"], ["--config=c.yaml", "--config-dir=d", "--max-pods=-4"]]) {
        await recording.check(`drop-ins: ${name}: ${args.join(" ")}`, (side) => rejected(side, args, files));
      }
    });
  }
});

void suite("the Go kubelet's own description of itself", () => {
  test("[1.1] --version is the same", () =>
    recording.check("--version", async (side) => {
      const outcome = await run(side, ["--version"]);
      assert.deepEqual([outcome.exitCode, outcome.stdout], [0, "Kubernetes v1.36.4\n"]);
      return outcome;
    }));

  test("[1.2] Deckhand has exactly the flags of --help, with the same deprecations, besides its own deckhand- flags", () =>
    recording.check("flags of --help", async (side) => {
      const flags = side === "go" ? flagsOfHelp((await run(side, ["--help"])).stdout) : ownFlags();
      assert.ok(flags.length > 140, String(flags.length));
      return flags.toSorted();
    }));

  test("[1.10] Deckhand has exactly the feature gates of --help, with the same stages and defaults", () =>
    recording.check("gates of --help", async (side) => {
      const gates = side === "go" ? gatesOfHelp((await run(side, ["--help"])).stdout) : ownGates();
      assert.ok(gates.length > 140, String(gates.length));
      return gates.toSorted();
    }));
});

const flagsOfHelp = (help: string) =>
  help.split(/\n(?= {2,6}-)/).flatMap((entry) => {
    const name = /^ {2,6}(?:-\w, )?--([-a-z0-9]+)/.exec(entry)?.[1];
    return name === undefined ? [] : [`${name} ${entry.includes("(DEPRECATED: ")}`];
  });

const ownFlags = () =>
  FLAGS.filter(({ name }) => !name.startsWith("deckhand-")).map(
    ({ name, deprecated }) => `${name} ${deprecated !== undefined}`,
  );

const gatesOfHelp = (help: string) =>
  [...help.matchAll(/(\w+)=true\|false \((ALPHA|BETA) - default=(\w+)\)/g)].map(
    ([, name, stage, initial]) => `${name} ${stage} ${initial}`,
  );

const ownGates = () =>
  Object.entries(GATES).flatMap(([name, { stage, initial }]) =>
    stage === "alpha" || stage === "beta" ? [`${name} ${stage.toUpperCase()} ${initial}`] : [],
  );
