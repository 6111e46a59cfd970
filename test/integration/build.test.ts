import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { hostClock } from "../../src/wire/host/clock.ts";
import { startHelper } from "../../src/wire/mounts/helper-process.ts";
import { createStats } from "../../src/wire/stats/stats.ts";
import { buildBundle } from "../../tools/build/bundle.ts";
import { buildExecutable } from "../../tools/build/executable.ts";
import { buildForOther, buildProgram } from "../../tools/build/program.ts";
import { inRepository } from "../../tools/repository.ts";
import { scratch } from "../../tools/scratch.ts";
import { figure } from "../figures.ts";
import { builtProgram } from "../support/built-program.ts";

const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** The package URLs of what is installed without the development packages. */
function installedPackages(): ReadonlySet<string> {
  const { packages } = JSON.parse(readFileSync(inRepository("package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>;
  };
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true);
  return new Set(
    installed.map(([path, { version }]) => {
      const name = path.replace(/^.*node_modules\//, "").replace("@", "%40");
      return `pkg:npm/${name}@${version}`;
    }),
  );
}

interface Bill {
  readonly bomFormat: string;
  readonly serialNumber: string;
  readonly metadata: { readonly component: { readonly purl: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes: readonly { readonly alg: string; readonly content: string }[];
    readonly components?: readonly { readonly name: string; readonly version: string }[];
  }[];
}

describe("npm run build", () => {
  const elsewhere = scratch();
  after(() => elsewhere[Symbol.dispose]());
  const bundle = inRepository("dist/deckhand.js");
  const executable = inRepository("dist/deckhand");
  const run = (file: string, ...args: readonly string[]) => {
    // Run outside the repository and its packages, as on a machine where nothing is installed.
    const { status, stdout, stderr } = spawnSync(file, args, { cwd: elsewhere.root, encoding: "utf8" });
    return { status, stdout, stderr };
  };

  test("builds a bundle and an executable", () => {
    const startedMs = performance.now();
    const { status, stderr } = run(process.execPath, inRepository("tools/build.ts"));
    assert.equal(status, 0, stderr);
    figure("build time", Math.round(performance.now() - startedMs), "ms");
    figure("bundle", statSync(bundle).size, "bytes");
    figure("executable", statSync(executable).size, "bytes");
  });

  test("the bundle contains the program of the stats thread, which needs no file", async () => {
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
    test(`${what} prints its version`, () => {
      const stdout = "deckhand 0.0.0 (Kubernetes v1.36.4)\n";
      assert.deepEqual(run(file, ...args, "--version"), { status: 0, stdout, stderr: "" });
    });

    test(`${what} prints the SBOM and the licenses of exactly the components that it contains`, () => {
      const { status, stdout, stderr } = run(file, ...args, "sbom");
      assert.deepEqual([status, stderr], [0, ""]);
      const bill = JSON.parse(stdout) as Bill;
      assert.deepEqual([bill.bomFormat, bill.metadata.component.purl], ["CycloneDX", "pkg:npm/deckhand@0.0.0"]);
      assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      const node = bill.components.find(({ name }) => name === "node");
      if (what === "the bundle") assert.equal(node, undefined);
      else {
        assert.deepEqual(node?.hashes, [{ alg: "SHA-256", content: sha256(process.execPath) }]);
        assert.deepEqual(node.components?.find(({ name }) => name === "openssl")?.version, process.versions.openssl);
      }
      const packages = bill.components.filter((each) => each !== node).map(({ purl }) => purl);
      const installed = installedPackages();
      assert.deepEqual(
        packages.filter((each) => !installed.has(each)),
        [],
      );
      // Packages that the agent requires.
      for (const name of ["%40bufbuild/protobuf", "commander", "pino", "sonic-boom", "yaml"]) {
        assert.ok(
          packages.some((each) => each.startsWith(`pkg:npm/${name}@`)),
          `${name} in ${packages.join()}`,
        );
      }
      const { stdout: licences } = run(file, ...args, "licences");
      const sections = [...licences.matchAll(/^=+\n(?<title>\S+ \S+) \(.*\)\n=+$/gm)].map(([, title]) => title);
      assert.deepEqual(sections, [
        "deckhand 0.0.0",
        ...bill.components.map(({ name, version }) => `${name} ${version}`),
      ]);
      assert.match(licences, /Copyright 2008 Google Inc\.\s+All rights reserved\.\s+Redistribution and use/);
      assert.equal(licences.includes("V8, located at deps/v8"), what === "the executable");
    });

    test(`${what} exits without an error when its reader closes the pipe`, () => {
      const { status, stderr } = spawnSync(
        "bash",
        ["-o", "pipefail", "-c", '"$@" licences | head -n1', "bash", ...command],
        {
          encoding: "utf8",
        },
      );
      assert.deepEqual([status, stderr], [0, ""]);
    });

    test(`${what} runs as its own volume helper`, async () => {
      const helper = startHelper({ file, args: [...args, "volume-helper"] });
      const reply = await helper.run({ kind: "kindOf", path: elsewhere.root }, () => {});
      helper.end();
      await helper.ended;
      assert.deepEqual(reply, { kind: "done", value: "directory" });
    });

    test(`[1.1] ${what} has the kubelet's command line when run through a link named kubelet`, () => {
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

  test("builds identical bytes from the same tree, whatever the output directory", async () => {
    const again = elsewhere.path("again");
    await buildProgram(again);
    const files = readdirSync(inRepository("dist")).toSorted();
    assert.deepEqual(files, ["deckhand", "deckhand.js", "deckhand.js.map", "licences.txt", "sbom.cdx.json"]);
    for (const file of files) {
      assert.equal(sha256(join(again, file)), sha256(inRepository(`dist/${file}`)), file);
    }
    for (const file of [bundle, executable]) {
      assert.equal(readFileSync(file).includes(inRepository("")), false, `${file} names a path of this machine`);
    }
  });

  test("the executable contains a code cache that its Node.js accepts", () => {
    const { stderr } = spawnSync(executable, ["--version"], {
      encoding: "utf8",
      env: { ...process.env, NODE_DEBUG_NATIVE: "SEA" },
    });
    assert.match(stderr, /code cache accepted/);
  });

  test("builds an arm64 executable from the arm64 Node.js and the same bundle", async () => {
    mkdirSync(elsewhere.path("other"));
    const program = { ...(await builtProgram()), directory: elsewhere.path("other") };
    const { executable: other, docs } = buildForOther(program, "arm64");
    const content = readFileSync(other);
    const AARCH64 = 183;
    assert.deepEqual([content.subarray(1, 4).toString(), content.readUInt16LE(18)], ["ELF", AARCH64]);
    assert.ok(content.includes(readFileSync(bundle)), "the bundle is in it");
    assert.notEqual(docs["sbom.cdx.json"], program.docs["sbom.cdx.json"], "it names its own Node");
    assert.equal(docs["licences.txt"], program.docs["licences.txt"]);
    assert.ok(content.includes(docs["sbom.cdx.json"] ?? ""), "its bill of materials is in it");
    figure("executable for arm64", content.length, "bytes");
  });

  test("builds grpc-js and protobuf, which main does not use yet, into a bundle and an executable", async () => {
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
    const parts = { bundle: withGrpc, docs: {}, node: process.execPath, forHere: true };
    buildExecutable(parts, elsewhere.path("out/grpc"));
    const wanted = { status: 0, stdout: "unix:/nowhere 1\n", stderr: "" };
    assert.deepEqual(run(process.execPath, withGrpc), wanted);
    assert.deepEqual(run(elsewhere.path("out/grpc")), wanted);
  });
});
