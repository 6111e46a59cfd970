import assert from "node:assert/strict";
import { mkdtemp, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { authenticatorFor } from "./credentials.ts";

const ofFile = (path: string, clock: VirtualClock) =>
  authenticatorFor({ kind: "tokenFile", path }, { clock, source: undefined, onCertificate: () => {} }) ??
  assert.fail("a file's token is not waited for");

async function tokenFile(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "deckhand-token-"));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, "token");
  await writeFile(path, "one\n");
  const clock = new VirtualClock();
  return { path, clock, authenticator: ofFile(path, clock) };
}

void test("[2.9] a replaced token file is read within a second", async (t) => {
  const { path, clock, authenticator } = await tokenFile(t);
  assert.deepEqual(await authenticator.authorization(), { header: "Bearer one" });
  await writeFile(`${path}.new`, "two");
  await rename(`${path}.new`, path);
  assert.deepEqual(await authenticator.authorization(), { header: "Bearer one" });
  await clock.advance(1000);
  assert.deepEqual(await authenticator.authorization(), { header: "Bearer two" });
});

void test("a token file changed with the same size and times is read within a minute", async (t) => {
  const { path, clock, authenticator } = await tokenFile(t);
  await utimes(path, 1, 1);
  await authenticator.authorization();
  await writeFile(path, "uno\n");
  await utimes(path, 1, 1);
  await clock.advance(59_000);
  assert.deepEqual(await authenticator.authorization(), { header: "Bearer one" });
  await clock.advance(1000);
  assert.deepEqual(await authenticator.authorization(), { header: "Bearer uno" });
});

void test("the last token is used while its file is missing, and renew() reports the failure", async (t) => {
  const { path, clock, authenticator } = await tokenFile(t);
  await authenticator.authorization();
  await rm(path);
  await clock.advance(5000);
  assert.deepEqual(await authenticator.authorization(), { header: "Bearer one" });
  await assert.rejects(authenticator.renew(undefined), { code: "ENOENT" });
  await writeFile(path, "two");
  assert.equal(await authenticator.renew(undefined), true);
  assert.equal(await authenticator.renew(undefined), false);
});

void test("an empty or missing token file is an error at first use", async (t) => {
  const { path, clock } = await tokenFile(t);
  await writeFile(path, "\n");
  await assert.rejects(ofFile(path, clock).authorization(), /is empty/);
  await rm(path);
  await assert.rejects(ofFile(path, clock).authorization(), { code: "ENOENT" });
});
