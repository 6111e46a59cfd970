/** Contract suite of the LogFiles port. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { HostFileError, type HostFiles } from "../../src/ports/host-files.ts";
import type { LogFiles } from "../../src/ports/log-files.ts";

export interface LogFilesWorld {
  readonly logs: LogFiles;
  /** Accesses the same files. */
  readonly files: HostFiles;
  readonly directory: string;
  /** Appends to the file at the path, as a runtime does; creates a missing file. */
  readonly append: (path: string, text: string) => Promise<void>;
  readonly end: () => Promise<void>;
}

const NEVER = new AbortController().signal;

export function logFilesContract(name: string, begin: () => Promise<LogFilesWorld>): void {
  const tried = (title: string, run: (world: LogFilesWorld, path: string) => Promise<void>): void =>
    void test(title, async () => {
      const world = await begin();
      try {
        await run(world, `${world.directory}/0.log`);
      } finally {
        await world.end();
      }
    });

  describe(`${name} keeps the contract of the LogFiles port`, () => {
    tried(
      "a log is read at any offset, including text that is appended after opening",
      async ({ logs, append }, path) => {
        await append(path, "one two");
        await using log = (await logs.open(path)) ?? assert.fail("it is there");
        const into = new Uint8Array(5);
        assert.equal(await log.read(into, 0), 5);
        assert.equal(Buffer.from(into).toString(), "one t");
        assert.equal(await log.read(into, 5), 2);
        assert.equal(await log.read(into, 7), 0);
        await append(path, " three");
        assert.equal(await log.sizeBytes(), 13);
        assert.equal(await log.read(into, 8), 5);
        assert.equal(Buffer.from(into).toString(), "three");
      },
    );

    tried("a missing log is not opened and has no identity", async ({ logs, directory }, path) => {
      assert.equal(await logs.open(path), undefined);
      assert.equal(await logs.open(`${directory}/none/0.log`), undefined);
      assert.equal(await logs.openCompressed(path), undefined);
      assert.equal(await logs.identityAt(path), undefined);
    });

    tried(
      "[19.4] rejects a link at the end of the path, and a directory",
      async ({ logs, files, directory, append }, path) => {
        await append(`${directory}/secret`, "secret");
        await files.link(`${directory}/secret`, path);
        await assert.rejects(logs.open(path), { name: "HostFileError", code: "notPermitted" });
        await assert.rejects(logs.openCompressed(path), { name: "HostFileError", code: "notPermitted" });
        await assert.rejects(logs.compress(path, `${path}.tmp`, NEVER), {
          name: "HostFileError",
          code: "notPermitted",
        });
        await assert.rejects(logs.open(directory), HostFileError);
      },
    );

    tried("an open log stays readable after its rename and removal", async ({ logs, files, append }, path) => {
      await append(path, "old");
      await using log = (await logs.open(path)) ?? assert.fail("it is there");
      assert.equal(await logs.identityAt(path), log.identity);
      await files.rename(path, `${path}.1`);
      assert.equal(await logs.identityAt(`${path}.1`), log.identity);
      assert.equal(await logs.identityAt(path), undefined);
      await append(path, "new");
      assert.notEqual(await logs.identityAt(path), log.identity);
      await files.removeFile(`${path}.1`);
      const into = new Uint8Array(9);
      assert.equal(await log.read(into, 0), 3);
      assert.equal(Buffer.from(into.subarray(0, 3)).toString(), "old");
    });

    tried(
      "[19.2] compress writes a gzip with the log's mode, and openCompressed reads the original text",
      async ({ logs, files, append }, path) => {
        const text = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join("");
        await append(path, text);
        await files.setMode(path, 0o640);
        await append(`${path}.gz`, "what was there before, and is longer than nothing");
        await logs.compress(path, `${path}.gz`, NEVER);
        const packed = await files.read(`${path}.gz`, 1e7);
        assert.equal(gunzipSync(packed).toString(), text);
        assert.ok(packed.length < text.length / 2);
        assert.equal((await files.facts(`${path}.gz`))?.mode, 0o640);
        await using log = (await logs.openCompressed(`${path}.gz`)) ?? assert.fail("it is there");
        const parts: Buffer[] = [];
        for (let into = new Uint8Array(100_000); ; into = new Uint8Array(100_000)) {
          const read = await log.read(into);
          parts.push(Buffer.from(into.subarray(0, read)));
          if (read < into.length) break;
        }
        assert.equal(Buffer.concat(parts).toString(), text);
      },
    );

    tried("rejects a file that is no gzip, and a reader may stop early", async ({ logs, append }, path) => {
      await append(path, "no gzip");
      {
        await using log = (await logs.openCompressed(path)) ?? assert.fail("it is there");
        await assert.rejects(log.read(new Uint8Array(10)), HostFileError);
      }
      await append(`${path}.1`, "a".repeat(1_000_000));
      await logs.compress(`${path}.1`, `${path}.1.gz`, NEVER);
      await using log = (await logs.openCompressed(`${path}.1.gz`)) ?? assert.fail("it is there");
      assert.equal(await log.read(new Uint8Array(10)), 10);
    });

    tried(
      "an aborted compress, or one of a missing log, leaves no file",
      async ({ logs, files, directory, append }, path) => {
        await append(path, "text");
        const gaveUp = new AbortController();
        gaveUp.abort(new Error("given up"));
        await assert.rejects(logs.compress(path, `${path}.tmp`, gaveUp.signal), /given up/);
        await assert.rejects(logs.compress(`${path}.none`, `${path}.tmp`, NEVER), { code: "notFound" });
        assert.deepEqual(await files.list(directory), ["0.log"]);
      },
    );
  });
}
