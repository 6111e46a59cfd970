/** Contract suite of the Quotas port. Each test has its own empty directories. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { HostFiles } from "../../src/ports/host-files.ts";
import { MountError } from "../../src/ports/mounts.ts";
import type { Quotas } from "../../src/ports/quotas.ts";

export interface QuotasWorld {
  readonly quotas: Quotas;
  readonly files: HostFiles;
  /** Empty, on a file system that counts projects. */
  readonly counted: string;
  /** Empty, on a file system that does not. */
  readonly uncounted: string;
  /** Writes a file, removes its name and keeps it open until the end. */
  readonly hide: (directory: string, bytes: number) => Promise<void>;
  readonly end: () => Promise<void>;
}

const MIB = 2 ** 20;
const { signal } = new AbortController();

export function quotasContract(name: string, begin: () => Promise<QuotasWorld>): void {
  describe(`${name} keeps the contract of the Quotas port`, () => {
    let begun: QuotasWorld | undefined;
    beforeEach(async () => {
      begun = await begin();
    });
    afterEach(() => begun?.end());
    const given = () => toolsOf(begun ?? assert.fail("the world has not begun"));
    assigning(given);
    measuring(given);
    releasing(given);
  });
}

type Given = () => ReturnType<typeof toolsOf>;

function toolsOf(world: QuotasWorld) {
  const { quotas, files, counted } = world;
  const at = (name: string) => `${counted}/${name}`;
  return {
    ...world,
    at,
    make: (name: string) => files.makeDirectory(at(name), 0o755),
    write: (name: string, bytes: number) => files.writeNew(at(name), new Uint8Array(bytes).fill(1), { mode: 0o644 }),
    /** Makes an empty directory with a project. */
    assigned: async (name: string) => {
      await files.makeDirectory(at(name), 0o755);
      return projectOf(await quotas.assign(at(name), signal));
    },
  };
}

function projectOf(assignment: Awaited<ReturnType<Quotas["assign"]>>): number {
  assert.ok(assignment.kind === "assigned", JSON.stringify(assignment));
  return assignment.project;
}

function assigning(given: Given): void {
  test("[21.9] every directory gets a project that no other directory has, and keeps it when it has content", async () => {
    const { quotas, at, make, write } = given();
    const names = ["a", "b", "c"];
    for (const name of names) await make(name);
    const assign = (name: string) => quotas.assign(at(name), signal).then(projectOf);
    const projects = await Promise.all(names.map(assign));
    assert.equal(new Set(projects).size, names.length);
    await write("a/file", 100);
    assert.deepEqual(await Promise.all(names.map(assign)), projects);
  });

  test("a directory that has content, or that lies on a file system without quotas, gets no project", async () => {
    const { quotas, files, at, make, write, uncounted } = given();
    await make("full");
    await write("full/file", 100);
    assert.deepEqual(await quotas.assign(at("full"), signal), { kind: "unavailable", why: "content" });
    await files.makeDirectory(`${uncounted}/empty`, 0o755);
    const why = { kind: "unavailable", why: "filesystem" };
    assert.deepEqual(await quotas.assign(`${uncounted}/empty`, signal), why);
    await assert.rejects(quotas.assign(at("none"), signal), (error) => {
      return error instanceof MountError && error.code === "notFound";
    });
  });
}

function measuring(given: Given): void {
  test("[21.9] the usage follows what is written at any depth, and counts an open file without a name", async () => {
    const { quotas, at, make, write, hide, assigned } = given();
    const project = await assigned("v");
    const other = await assigned("other");
    const usage = () => quotas.usage(at("v"), project, signal);
    const empty = await usage();
    assert.equal(empty.inodes, 1);
    assert.ok(empty.bytes < MIB / 4, `${empty.bytes} bytes`);
    await make("v/deep");
    await write("v/deep/file", MIB);
    const written = await usage();
    assert.equal(written.inodes, 3);
    assert.ok(written.bytes >= MIB && written.bytes < 2 * MIB, `${written.bytes} bytes`);
    await hide(at("v"), 4 * MIB);
    const hidden = await usage();
    assert.equal(hidden.inodes, 4);
    assert.ok(hidden.bytes >= 5 * MIB && hidden.bytes < 10 * MIB, `${hidden.bytes} bytes`);
    assert.equal((await quotas.usage(at("other"), other, signal)).inodes, 1);
  });

  test("the usage of a project without files is refused: its directory alone would count", async () => {
    const { quotas, at, make } = given();
    await make("v");
    await assert.rejects(quotas.usage(at("v"), 4_000_000, signal), MountError);
  });
}

function releasing(given: Given): void {
  test("[21.9] only projects of removed directories are released, at and below the given directory", async () => {
    const { quotas, files, counted, at, make, assigned } = given();
    await make("pods");
    await make("elsewhere");
    const kept = await assigned("pods/kept");
    await assigned("pods/gone");
    await assigned("elsewhere/gone");
    assert.deepEqual(await quotas.releaseRemoved(counted, signal), []);
    for (const name of ["pods/gone", "elsewhere/gone"]) await files.removeTree(at(name));
    assert.deepEqual(await quotas.releaseRemoved(at("pods"), signal), [at("pods/gone")]);
    assert.deepEqual(await quotas.releaseRemoved(at("elsewhere/gone"), signal), [at("elsewhere/gone")]);
    assert.deepEqual(await quotas.releaseRemoved(counted, signal), []);
    assert.equal(projectOf(await quotas.assign(at("pods/kept"), signal)), kept);
  });

  test("[21.9] a released project that an open file still has is given to no other directory", async () => {
    const { quotas, files, counted, at, hide, assigned } = given();
    const first = await assigned("first");
    await hide(at("first"), MIB);
    await files.removeTree(at("first"));
    assert.deepEqual(await quotas.releaseRemoved(counted, signal), [at("first")]);
    assert.notEqual(await assigned("second"), first);
  });
}
