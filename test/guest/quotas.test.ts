/** Project quotas on XFS in a guest: the host's kernel may have no quotas. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildBundle } from "../../tools/build/bundle.ts";
import { scratch } from "../../tools/scratch.ts";
import { deckhandPayloads } from "../support/guest-agents.ts";
import { resumeGuest } from "./guests.ts";

const ROOT = "/var/lib/kubelet";
const CONTRACT = "/opt/quotas.mjs";
const LIMIT_MS = 10 * 60_000;

const MAKE_XFS = `modprobe -a loop xfs
truncate -s 400M /srv/quotas.img
mkfs.xfs -q /srv/quotas.img
mkdir -p ${ROOT}
mount -o loop,prjquota /srv/quotas.img ${ROOT}`;

test("[21.9] xfs_quota keeps the contract of the Quotas port", async () => {
  using directory = scratch();
  const bundle = directory.path("quotas.mjs");
  await buildBundle(bundle, "test/support/quotas-program.ts");
  await using guest = await resumeGuest();
  await guest.must(MAKE_XFS);
  await guest.put({ ...(await deckhandPayloads()), [CONTRACT]: { from: bundle } });
  const { code, stdout } = await guest.run(`/opt/deckhand/node ${CONTRACT} /opt/deckhand/deckhand.js ${ROOT} /srv`, {
    limitMs: LIMIT_MS,
  });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /pass 6\b/);
});
