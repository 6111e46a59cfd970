/**
 * Generates the messages of gRPC peers from .proto files in pinned Go modules, or from a .proto file beside this one
 * where no module is named. Only names, numbers and shapes are used: comments are removed before compilation. Needs
 * only Go's module cache (or proxy).
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Generator } from "./generator.ts";
import { withoutComments } from "./proto-comments.ts";

interface ProtoSource {
  /**
   * The directory of src/wire whose `gen` receives the messages. Sources of one party must have different file names.
   */
  readonly party: string;
  /** Undefined: the file is beside this one. */
  readonly from: { readonly module: string; readonly version: string } | undefined;
  readonly file: string;
}

const sources: readonly ProtoSource[] = [
  { party: "cri", from: { module: "k8s.io/cri-api", version: "v0.36.4" }, file: "pkg/apis/runtime/v1/api.proto" },
  { party: "otlp", from: undefined, file: "otlp-trace.proto" },
];

const parties = [...new Set(sources.map(({ party }) => party))];

export const protobufGenerators: readonly Generator[] = parties.map((party) => ({
  name: party,
  output: `src/wire/${party}/gen`,
  make: (directory) =>
    compile(
      sources.filter((source) => source.party === party),
      directory,
    ),
}));

const run = promisify(execFile);
const buf = fileURLToPath(import.meta.resolve("@bufbuild/buf/bin/buf"));
const plugin = fileURLToPath(import.meta.resolve("@bufbuild/protoc-gen-es/bin/protoc-gen-es"));

async function compile(protos: readonly ProtoSource[], directory: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "deckhand-proto-"));
  try {
    const input = join(scratch, "proto");
    await mkdir(input);
    for (const proto of protos) {
      const source = proto.from === undefined ? import.meta.dirname : await moduleDirectory(proto.from, scratch);
      const text = await readFile(join(source, proto.file), "utf8");
      await writeFile(join(input, basename(proto.file)), withoutComments(text), { flag: "wx" });
    }
    // target=ts would emit enums, which Node's type stripping rejects.
    const template = {
      version: "v2",
      plugins: [
        {
          local: [process.execPath, plugin],
          out: directory,
          opt: ["target=js+dts", "import_extension=js"],
        },
      ],
    };
    await run(process.execPath, [buf, "generate", input, "--template", JSON.stringify(template)]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function moduleDirectory({ module, version }: NonNullable<ProtoSource["from"]>, cwd: string): Promise<string> {
  // Runs outside of any module, so that no go.mod of ours affects the result.
  const { stdout } = await run("go", ["mod", "download", "-json", `${module}@${version}`], { cwd });
  const answer: unknown = JSON.parse(stdout);
  if (typeof answer === "object" && answer !== null && "Dir" in answer && typeof answer.Dir === "string")
    return answer.Dir;
  throw new Error(`go has no directory for ${module}@${version}`);
}
