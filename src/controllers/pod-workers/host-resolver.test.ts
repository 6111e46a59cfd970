import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { withFileOfSize } from "../../../test/support/file-of-size.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { readLinked } from "../../ports/follow-links.ts";
import { HostFileError } from "../../ports/host-files.ts";
import { RESOLVER_FILE_BYTES_MAX } from "../limits.ts";
import { checkResolverFile, readHostResolver } from "./host-resolver.ts";

const PATH = "/etc/resolv.conf";

async function world(text?: string) {
  const fake = new FakeFiles({ clock: new ManualClock() });
  fake.makeDirectory("/etc", 0o755);
  const files = fake.port;
  if (text !== undefined) await files.writeAtomically(PATH, new TextEncoder().encode(text), 0o644);
  const reported: string[] = [];
  const events = {
    emit: (subject: { readonly kind: string; readonly name: string }, type: string, reason: string, message: string) =>
      void reported.push(`${subject.kind} ${subject.name} ${type} ${reason}: ${message}`),
  };
  const check = (path: string, over = files) =>
    checkResolverFile({ path, clusterDomain: "cluster.local", nodeName: "n1" }, { files: over, events });
  return { files, reported, check };
}

test("[24.2] an empty path reads no file, and an incomplete line fails with upstream's message", async () => {
  const { files } = await world("nameserver 192.0.2.1\nnameserver\n");
  assert.equal(await readHostResolver("", files), undefined);
  await assert.rejects(readHostResolver(PATH, files), {
    message: "Encountered error while parsing resolv conf file. Error: nameserver list is empty ",
  });
});

test("[24.3] a resolver file that exceeds upstream's limits, is invalid or is missing emits a Node event; a valid one none", async () => {
  const good = await world("nameserver 192.0.2.1\nsearch example\n");
  await good.check(PATH);
  await good.check("");
  assert.deepEqual(good.reported, []);
  const many = await world(`search ${Array.from({ length: 30 }, (_, index) => `d${index}`).join(" ")}\n`);
  await many.check(PATH);
  assert.deepEqual(many.reported, [
    "Node n1 Warning CheckLimitsForResolvConf: Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 29 domains!",
  ]);
  const broken = await world("nameserver\n");
  await broken.check(PATH);
  assert.deepEqual(broken.reported, ["Node n1 Warning CheckLimitsForResolvConf: nameserver list is empty "]);
  const none = await world();
  await none.check(PATH);
  const missing = "open /etc/resolv.conf: no such file or directory";
  assert.deepEqual(none.reported, [`Node n1 Warning CheckLimitsForResolvConf: ${missing}`]);
  await assert.rejects(readHostResolver(PATH, none.files), { message: missing });
});

test("[24.3] a resolver file larger than the limit is an error and a Node event; one of exactly the limit is read", async () => {
  const { files, reported, check } = await world("nameserver 192.0.2.1\n");
  const whole = withFileOfSize(files, PATH, RESOLVER_FILE_BYTES_MAX);
  assert.deepEqual((await readHostResolver(PATH, whole))?.servers, ["192.0.2.1"]);
  await check(PATH, whole);
  assert.deepEqual(reported, []);
  const tooLarge = withFileOfSize(files, PATH, RESOLVER_FILE_BYTES_MAX + 1);
  await assert.rejects(readHostResolver(PATH, tooLarge), { code: "tooLarge" });
  await check(PATH, tooLarge);
  assert.deepEqual(reported, ["Node n1 Warning CheckLimitsForResolvConf: read /etc/resolv.conf: tooLarge"]);
});

test("a file is read through absolute and relative links; a circle of links is an error", async () => {
  const { files } = await world("here");
  await files.link("resolv.conf", "/etc/beside");
  await files.link("/etc/beside", "/etc/far");
  assert.equal(new TextDecoder().decode(await readLinked(files, "/etc/far", 10)), "here");
  await files.link("/etc/b", "/etc/a");
  await files.link("/etc/a", "/etc/b");
  await assert.rejects(readLinked(files, "/etc/a", 10), HostFileError);
  await assert.rejects(readLinked(files, "/etc/far", 3), { code: "tooLarge" });
});
