/** Copying files into a guest and out of it. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import type { Guest } from "./guest.ts";
import { resumeGuest } from "./guests.ts";

const BIG_MB = wholeSize() ? 100 : 10;
const BIG_BYTES = BIG_MB * 2 ** 20;
const sha256 = (content: Uint8Array) => createHash("sha256").update(content).digest("hex");

describe("files", () => {
  let guest: Guest;
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "deckhand-guest-files-"));
    guest = await resumeGuest();
  });
  after(async () => {
    await guest.close();
    await rm(directory, { recursive: true });
  });

  test(`${BIG_MB} MB are copied into the guest and back unchanged`, async () => {
    const content = randomBytes(BIG_BYTES);
    const from = join(directory, "big");
    await writeFile(from, content, { mode: 0o750 });
    let startedMs = performance.now();
    await guest.put({ "/opt/new directory/big": { from } });
    figure(`put ${BIG_MB} MB`, Math.round(performance.now() - startedMs), "ms");
    const [sum] = (await guest.must("sha256sum '/opt/new directory/big'")).split(" ");
    assert.equal(sum, sha256(content));
    assert.equal(await guest.must("stat -c %a '/opt/new directory/big'"), "750\n");

    startedMs = performance.now();
    const back = await guest.get(["/opt/new directory"], join(directory, "out"));
    figure(`get ${BIG_MB} MB`, Math.round(performance.now() - startedMs), "ms");
    assert.equal(sha256(await readFile(join(back, "big"))), sha256(content));
    assert.equal((await stat(join(back, "big"))).mode & 0o777, 0o750);
  });

  test("a directory is merged into an existing one, with its links; a file replaces a running program", async () => {
    const from = join(directory, "tree");
    await mkdir(join(from, "inner"), { recursive: true });
    await writeFile(join(from, "inner", "new"), "new\n");
    await symlink("inner/new", join(from, "link"));
    await guest.must(
      "mkdir -p /opt/tree/inner; echo old > /opt/tree/inner/old; cp /bin/sleep /opt/runs; /opt/runs 600 &",
    );
    await guest.put({ "/opt/tree": { from }, "/opt/runs": { content: "#!/bin/sh\necho replaced\n", mode: 0o755 } });
    assert.equal(
      await guest.must("cat /opt/tree/inner/old /opt/tree/link; readlink /opt/tree/link; /opt/runs"),
      "old\nnew\ninner/new\nreplaced\n",
    );
  });

  test("disks can be attached and detached repeatedly", async () => {
    for (let turn = 0; turn < 6; turn += 1) await guest.put({ [`/opt/turn-${turn}`]: { content: `${turn}` } });
    assert.equal(await guest.must("cat /opt/turn-*"), "012345");
    assert.equal(await guest.must("lsblk -dno NAME"), "vda\n");
  });

  test("put and get reject when a file is missing", async () => {
    await assert.rejects(guest.get(["/no/such/file"], join(directory, "none")), /no\/such\/file/);
    await assert.rejects(guest.put({ "/opt/x": { from: join(directory, "missing") } }), /ENOENT/);
    assert.equal(await guest.must("lsblk -dno NAME"), "vda\n");
  });
});
