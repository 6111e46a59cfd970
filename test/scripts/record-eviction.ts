/** Records the Go kubelet's answers to the tables and sequences of `test/golden/eviction`. */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FilesystemLayout } from "../../src/domain/node/pressure.ts";
import { inRepository } from "../../tools/repository.ts";
import { scriptArguments } from "../../tools/script-arguments.ts";
import { EVICTION_ROUNDS, evictionSequences } from "../golden/eviction/sequences.ts";
import { EVICTION_ANSWERS, evictionTables } from "../golden/eviction/tables.ts";

const USAGE = `Usage: node test/scripts/record-eviction.ts

Builds test/golden/eviction/go with the Go kubelet's package of eviction, and writes its answers to
test/golden/${EVICTION_ANSWERS} and test/golden/${EVICTION_ROUNDS}. Needs Go and the modules of test/cluster/parts/kubernetes.
`;

const MODULE = "k8s.io/kubernetes";
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

scriptArguments(USAGE, {});
const directory = mkdtempSync(join(tmpdir(), "record-eviction-"));
try {
  const program = build();
  record(
    program,
    EVICTION_ANSWERS,
    evictionTables().map((table) => ({ table: withDisks(table) })),
  );
  record(
    program,
    EVICTION_ROUNDS,
    evictionSequences().map((sequence) => ({ sequence: withDisks(sequence) })),
  );
} finally {
  rmSync(directory, { recursive: true });
}

function withDisks<T extends { readonly layout: FilesystemLayout }>({ layout, ...rest }: T) {
  return { ...rest, imageFs: layout !== "shared", split: layout === "split" };
}

function record(program: string, name: string, questions: readonly object[]): void {
  const answers = execFileSync(program, {
    input: questions.map((question) => `${JSON.stringify(question)}\n`).join(""),
    maxBuffer: OUTPUT_BYTES_MAX,
    stdio: ["pipe", "pipe", "pipe"],
  });
  writeFileSync(inRepository(`test/golden/${name}`), answers);
}

/**
 * Go refuses to overlay files of the module cache, so the module is replaced by a directory with symbolic links to it.
 */
function build(): string {
  const parts = inRepository("test/cluster/parts/kubernetes");
  const sources = inRepository("test/golden/eviction/go");
  const copy = join(directory, "kubernetes");
  mkdirSync(copy);
  for (const file of ["go.mod", "go.sum"]) copyFileSync(join(parts, file), join(directory, file));
  const downloaded = JSON.parse(go("mod", "download", "-json", MODULE)) as { readonly Dir: string };
  for (const name of readdirSync(downloaded.Dir)) {
    if (name === "go.mod") copyFileSync(join(downloaded.Dir, name), join(copy, name));
    else symlinkSync(join(downloaded.Dir, name), join(copy, name));
  }
  go("mod", "edit", "-replace", `${MODULE}=${copy}`);
  const overlay = join(directory, "overlay.json");
  const added = {
    [join(copy, "pkg/kubelet/eviction/answers.go")]: join(sources, "answers.go"),
    [join(directory, "main.go")]: join(sources, "main.go"),
  };
  writeFileSync(overlay, JSON.stringify({ Replace: added }));
  const program = join(directory, "answers");
  go("build", "-buildvcs=false", "-trimpath", "-tags", "eviction", "-overlay", overlay, "-o", program, ".");
  return program;
}

function go(...args: readonly string[]): string {
  const env = { ...process.env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local" };
  return execFileSync("go", args, { cwd: directory, encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] });
}
