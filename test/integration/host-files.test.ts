/** Tests of HostFiles that need a real mount: file system boundaries and a full disk. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createJournal } from "../../src/controllers/journal/journal.ts";
import { HostFileError } from "../../src/ports/host-files.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createHostFiles } from "../../src/wire/host/files.ts";

const files = createHostFiles({ clock: hostClock });

async function withMount(options: readonly string[], run: (scratch: string, mount: string) => Promise<void>) {
  const scratch = mkdtempSync(join(tmpdir(), "deckhand-mount-"));
  const mount = join(scratch, "tree/a mount");
  mkdirSync(mount, { recursive: true });
  mkdirSync(join(scratch, "user data"));
  const source = options[0] === "--bind" ? join(scratch, "user data") : "tmpfs";
  execFileSync("mount", [...options, source, mount]);
  try {
    await run(scratch, mount);
  } finally {
    execFileSync("umount", [mount]);
    rmSync(scratch, { recursive: true });
  }
}

const refused = (error: unknown) => error instanceof HostFileError && error.code === "notPermitted";

for (const [name, options] of [
  ["another file system", ["-t", "tmpfs"]],
  ["a bind mount of the same one", ["--bind"]],
] as const) {
  void test(`a tree with ${name} mounted in it is not removed, and nothing in it is lost`, () =>
    withMount(options, async (scratch, mount) => {
      writeFileSync(join(mount, "precious"), "x");
      writeFileSync(join(scratch, "tree/first"), "x");
      await assert.rejects(files.removeTree(join(scratch, "tree")), refused);
      await assert.rejects(files.removeTree(mount), refused);
      assert.ok(existsSync(join(mount, "precious")) && existsSync(join(scratch, "tree/first")));
    }));
}

const admitted = (index: number) => ({ kind: "admitted", uid: `uid-${index}`, pod: "ns/p", wallMs: index }) as const;

void test("a full disk leaves no partial file and rejects appends, and both work again once there is space", () =>
  withMount(["-t", "tmpfs", "-o", "size=128k"], async (_, mount) => {
    writeFileSync(join(mount, "ballast"), Buffer.alloc(60_000));
    await assert.rejects(files.writeAtomically(join(mount, "big"), Buffer.alloc(100_000), 0o600), { code: "noSpace" });
    assert.deepEqual(readdirSync(mount), ["ballast"]);

    const directory = join(mount, "journal");
    const open = () => createJournal({ files, directory, clock: hostClock, onProblem: () => {} });
    const journal = open();
    await journal.replay();
    const promised: number[] = [];
    const append = (index: number) =>
      journal.append(admitted(index)).then(
        () => promised.push(index) > 0,
        () => false,
      );
    let next = 0;
    while (await append(next)) next += 1;
    const untilFull = promised.length;
    for (let more = 0; more < 5; more += 1) await append(next + more);
    rmSync(join(mount, "ballast"));
    assert.equal(await append(next + 5), true);
    assert.deepEqual(
      (await open().replay()).map(({ wallMs }) => wallMs),
      promised,
    );
    assert.ok(untilFull > 100 && promised.length < next + 6, `${untilFull} until it was full`);
  }));
