import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { FakeMounts } from "../../../sim/fake-mounts.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { ENV_FILE_BYTES_MAX } from "../../domain/limits.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import { readEnvFiles } from "./env-files.ts";

const NEVER = new AbortController().signal;
const VOLUME = "/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/config";
const volume = { name: "config", path: VOLUME, readOnly: false, selinuxRelabel: false, measured: undefined };
const volumes: PodVolumes = new Map([
  ["config", { kind: "mounted", volume }],
  ["later", { kind: "pending" }],
]);

async function kindOf(path: string, name = "config"): Promise<string> {
  const clock = new ManualClock();
  const disk = new FakeFiles({ clock });
  const files = disk.port;
  await files.makeDirectory(`${VOLUME}/inner`, 0o755);
  await files.writeAtomically(`${VOLUME}/inner/file`, Buffer.from("A='1'\n"), 0o644);
  await files.writeAtomically(`${VOLUME}/whole`, Buffer.alloc(ENV_FILE_BYTES_MAX, "#"), 0o644);
  await files.writeAtomically(`${VOLUME}/large`, Buffer.alloc(ENV_FILE_BYTES_MAX + 1, "#"), 0o644);
  await files.makeDirectory("/secret", 0o700);
  await files.writeAtomically("/secret/file", Buffer.from("A='stolen'\n"), 0o600);
  await files.link("/secret", `${VOLUME}/away`);
  await files.link("/secret/file", `${VOLUME}/stolen`);
  const env = [{ name: "A", valueFrom: { fileKeyRef: { volumeName: name, path, key: "A" } } }];
  const file = (await readEnvFiles({ env }, volumes, new FakeMounts(disk, clock), NEVER))(name, path);
  return file.kind === "read" ? Buffer.from(file.content).toString() : file.kind;
}

test("[24.10] a file below the volume is read", async () => {
  assert.equal(await kindOf("inner/file"), "A='1'\n");
  assert.equal(await kindOf("./inner//file"), "A='1'\n");
});

test("[24.10] no link is followed, and nothing outside the volume is read", async () => {
  for (const path of [
    "stolen",
    "away/file",
    "../../../../secret/file",
    "inner/../../config/inner/file",
    "inner",
    "none",
    "",
  ]) {
    assert.equal(await kindOf(path), "unreadable", path);
  }
});

test("[24.10] a file of exactly the limit is read, one byte more is unreadable", async () => {
  assert.equal((await kindOf("whole")).length, ENV_FILE_BYTES_MAX);
  assert.equal(await kindOf("large"), "unreadable");
});

test("[24.10] a volume that is not mounted, or not the pod's, yields noVolume", async () => {
  assert.equal(await kindOf("file", "later"), "noVolume");
  assert.equal(await kindOf("file", "another"), "noVolume");
});
