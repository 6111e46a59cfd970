/** The output of `npm run package`: the same bytes each time, and an npm package that needs only Node.js. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { BuiltProgram } from "../../tools/build/program.ts";
import { buildPackages, type Packages } from "../../tools/package/packages.ts";
import { inRepository } from "../../tools/repository.ts";
import { scratch } from "../../tools/scratch.ts";
import { command } from "../cluster/command.ts";
import { figure } from "../figures.ts";
import { builtProgram } from "../support/built-program.ts";
import { examplesUnder } from "../support/typed-lines.ts";

const typed = (line: string, cwd: string) => command("bash", ["-ec", line], { cwd, limitMs: 300_000 });
const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

interface Part {
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly content: string }[];
  readonly components?: readonly Part[];
}

/** Unpacks an OCI archive with one manifest into a root directory. */
async function unpackImage(archive: string, root: string, layout: string): Promise<void> {
  for (const directory of [root, layout]) mkdirSync(directory);
  await command("tar", ["--extract", "--file", archive, "--directory", layout]);
  const blob = ({ digest }: { readonly digest: string }) => join(layout, "blobs", digest.replace(":", "/"));
  const read = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
  const { manifests } = read(join(layout, "index.json")) as { readonly manifests: readonly [{ digest: string }] };
  const { layers } = read(blob(manifests[0])) as { readonly layers: readonly { digest: string }[] };
  for (const layer of layers) {
    await command("tar", ["--extract", "--gzip", "--file", blob(layer), "--directory", root]);
  }
}

describe("npm run package", () => {
  const directory = scratch();
  let program: BuiltProgram;
  let packages: Packages;

  before(async () => {
    const lines = examplesUnder("docs/install.md", "Building the packages");
    assert.deepEqual(lines, ["npm run package"]);
    // Run as documented, but not into the repository: other tests build there.
    await typed(`${lines.join()} -- --to ${directory.path("dist")}`, inRepository(""));
    program = await builtProgram();
    packages = buildPackages(program, directory.path("packages"));
  });
  after(() => directory[Symbol.dispose]());

  test("makes a Debian package, an image and an npm package, and nothing else", () => {
    const files = ["deckhand-0.0.0-amd64.oci.tar", "deckhand-0.0.0.tgz", "deckhand_0.0.0_amd64.deb"];
    assert.deepEqual(readdirSync(directory.path("packages")).toSorted(), files);
    assert.deepEqual(readdirSync(directory.path("dist/packages")).toSorted(), ["SHA256SUMS", ...files].toSorted());
    for (const what of ["deb", "image", "npm"] as const)
      figure(`${what} package`, statSync(packages[what]).size, "bytes");
  });

  test("gives the same bytes in any output directory", () => {
    for (const file of [packages.deb, packages.image, packages.npm]) {
      assert.equal(sha256(directory.path(`dist/packages/${basename(file)}`)), sha256(file), file);
    }
  });

  test("sha256sum accepts the packages with SHA256SUMS, and rejects changed bytes", async () => {
    const check = ["--check", "--strict", "SHA256SUMS"];
    const cwd = directory.path("dist/packages");
    assert.equal((await command("sha256sum", check, { cwd })).match(/: OK$/gm)?.length, 3);
    directory.write("changed/SHA256SUMS", readFileSync(join(cwd, "SHA256SUMS"), "utf8"));
    for (const file of [packages.deb, packages.image]) copyFileSync(file, directory.path(`changed/${basename(file)}`));
    writeFileSync(directory.path(`changed/${basename(packages.npm)}`), readFileSync(packages.npm).subarray(1));
    await assert.rejects(command("sha256sum", check, { cwd: directory.path("changed") }));
  });

  test("the image's bill of materials lists each of its Debian files, with its hash and package", async () => {
    const root = directory.path("image");
    await unpackImage(packages.image, root, directory.path("layout"));
    const bill = JSON.parse(readFileSync(join(root, "usr/share/doc/deckhand/sbom.cdx.json"), "utf8")) as Part;
    const parts = bill.components ?? [];
    const listed = parts
      .filter(({ purl }) => purl?.startsWith("pkg:deb/debian/"))
      .flatMap(({ components = [] }) => components)
      .map(({ name, hashes }) => [name, hashes?.[0]?.content] as const);
    const held = (await command("find", [root, "-type", "f", "-not", "-path", "*/usr/share/doc/*"]))
      .trim()
      .split("\n")
      .map((path) => path.slice(root.length))
      .filter((path) => path !== "/usr/bin/deckhand")
      .map((path) => [path, sha256(join(root, path))] as const);
    assert.ok(held.length > 5);
    assert.deepEqual(new Map(listed), new Map(held));
    const libc = parts.find(({ purl }) => purl?.startsWith("pkg:deb/debian/libc6@"));
    assert.match(libc?.version ?? "", /^2\.\d+/);
  });

  test("the single executable prints what docs/install.md says", async () => {
    const said = new Map<string, string>();
    for (const line of examplesUnder("docs/install.md", "One file")) {
      said.set(line, await typed(line, directory.path("dist")));
    }
    assert.equal(said.get("./deckhand --version"), "deckhand 0.0.0 (Kubernetes v1.36.4)\n");
    assert.equal(said.get("./deckhand kubelet --version"), "Kubernetes v1.36.4\n");
    assert.equal(said.get("./kubelet --version"), "Kubernetes v1.36.4\n");
    assert.match(said.get("./kubectl-why --help") ?? "", /^Usage: kubectl why pod NAME/);
    assert.match(said.get("./deckhand sbom") ?? "", /"bomFormat": "CycloneDX"/);
  });

  test("the Debian package contains the built executable, and depends on the libraries it is linked with", async () => {
    await command("dpkg-deb", ["--extract", packages.deb, directory.path("extracted")]);
    assert.equal(sha256(directory.path("extracted/usr/bin/deckhand")), sha256(program.executable));
    const kubelet = directory.path("extracted/usr/bin/kubelet");
    assert.equal(await command(kubelet, ["--version"]), "Kubernetes v1.36.4\n");
    const plugin = directory.path("extracted/usr/bin/kubectl-why");
    assert.match(await command(plugin, ["--help"]), /^Usage: kubectl why pod NAME/);
    const depends = await command("dpkg-deb", ["--field", packages.deb, "Pre-Depends"]);
    const linked = await command("ldd", [program.executable]);
    const owners = new Map([
      ["libatomic.so.1", "libatomic1"],
      ["libc.so.6", "libc6"],
      ["libdl.so.2", "libc6"],
      ["libgcc_s.so.1", "libgcc-s1"],
      ["libm.so.6", "libc6"],
      ["libpthread.so.0", "libc6"],
      ["libstdc++.so.6", "libstdc++6"],
    ]);
    for (const [, library = ""] of linked.matchAll(/^\s(\S+) => /gm)) {
      const owner = owners.get(library) ?? assert.fail(`nobody said whose ${library} is`);
      assert.ok(depends.includes(owner), `${owner} in ${depends}`);
    }
  });

  test("the npm package, installed into an empty directory, has no dependencies and runs, also with npx", async () => {
    directory.write("app/package.json", "{}");
    const cwd = directory.path("app");
    const offline = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
    const [install = "", npx = "", ...more] = examplesUnder("docs/install.md", "The npm package");
    assert.deepEqual(more, []);
    copyFileSync(packages.npm, directory.path(`app/${basename(packages.npm)}`));
    await typed(`${install} ${offline.join(" ")}`.replace(" deckhand-", " ./deckhand-"), cwd);
    assert.deepEqual(
      readdirSync(directory.path("app/node_modules")).filter((name) => !name.startsWith(".")),
      ["deckhand"],
    );
    const version = "deckhand 0.0.0 (Kubernetes v1.36.4)\n";
    assert.equal(await command(directory.path("app/node_modules/.bin/deckhand"), ["--version"], { cwd }), version);
    assert.equal(await typed(npx, cwd), version);
    const installed = directory.path("app/node_modules/.bin/deckhand");
    assert.match(await command(installed, ["licences"]), /^Deckhand 0\.0\.0 is licensed under Apache-2\.0/);
    assert.match(await command(installed, ["sbom"]), /"bomFormat": "CycloneDX"/);
  });
});
