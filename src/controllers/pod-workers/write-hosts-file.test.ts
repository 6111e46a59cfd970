import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { install } from "../../../sim/world-files.ts";
import { withFileOfSize } from "../../../test/support/file-of-size.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { NODE_HOSTS_FILE_BYTES_MAX } from "../limits.ts";
import type { PodWorkerSettings } from "./worker-options.ts";
import { writeHostsFile } from "./write-hosts-file.ts";

const HOSTS = "/etc/hosts";
const POD_HOSTS = "/root/pods/u/etc-hosts";
const container = { name: "app" };
const pod = {
  metadata: { name: "p", namespace: "ns", uid: "u" },
  spec: { containers: [container], hostNetwork: true },
};
const settings = { rootDir: "/root", hostname: "n1" } as unknown as PodWorkerSettings;

test("a hostNetwork pod gets a copy of the node's hosts file up to the limit; a larger file is an error", async () => {
  const disk = new FakeFiles({ clock: new ManualClock() });
  disk.makeDirectory("/root/pods/u", 0o750);
  install(disk, HOSTS, "127.0.0.1 localhost\n");
  const write = (sizeBytes: number) =>
    writeHostsFile(pod, container, [], withFileOfSize(disk.port, HOSTS, sizeBytes), settings);
  await assert.rejects(write(NODE_HOSTS_FILE_BYTES_MAX + 1), { code: "tooLarge" });
  assert.equal(await disk.port.facts(POD_HOSTS), undefined);
  assert.equal(await write(NODE_HOSTS_FILE_BYTES_MAX), POD_HOSTS);
  assert.match(Buffer.from(await disk.port.read(POD_HOSTS, 1000)).toString(), /127\.0\.0\.1 localhost\n$/);
});
