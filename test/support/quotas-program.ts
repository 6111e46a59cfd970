/**
 * Runs the contract suite of the Quotas port where a file system counts projects: in a guest, which has no repository.
 * Arguments: Deckhand's bundle, a directory where projects are counted, and one where they are not.
 */
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createHostFiles } from "../../src/wire/host/files.ts";
import { createMounts } from "../../src/wire/mounts/mounts.ts";
import { quotasContract } from "../contract/quotas-contract.ts";

const [bundle = "", counting = "", other = ""] = process.argv.slice(2);
const helper = { file: process.execPath, args: [bundle, "volume-helper"] };
const CHUNK = new Uint8Array(2 ** 20).fill(1);

quotasContract("xfs_quota", async () => {
  const [counted, uncounted] = [counting, other].map((directory) => mkdtempSync(join(directory, "contract-")));
  const mounts = createMounts({ clock: hostClock, helper });
  const open: number[] = [];
  if (counted === undefined || uncounted === undefined) throw new Error("no directories");
  return {
    quotas: mounts.quotas,
    files: createHostFiles({ clock: hostClock }),
    counted,
    uncounted,
    hide: async (directory, bytes) => {
      const path = join(directory, "hidden");
      const descriptor = openSync(path, "wx");
      open.push(descriptor);
      unlinkSync(path);
      for (let done = 0; done < bytes; done += CHUNK.length) writeSync(descriptor, CHUNK);
    },
    end: async () => {
      open.forEach(closeSync);
      for (const directory of [counted, uncounted]) rmSync(directory, { recursive: true });
      await mounts.quotas.releaseRemoved(counted, new AbortController().signal);
      await mounts.close();
    },
  };
});
