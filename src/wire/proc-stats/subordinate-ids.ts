/**
 * The subordinate IDs that an operator gives to a user for user namespaces, from `getsubids`: it knows more sources
 * than /etc/subuid.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { errorText } from "../../base/error-text.ts";
import type { KernelFiles } from "./kernel-files.ts";

const run = promisify(execFile);
const TOOL = "getsubids";
const LIMIT_MS = 10_000;

export async function readSubordinateIds(
  files: KernelFiles,
  user: string,
): Promise<{ readonly first: number; readonly length: number } | undefined> {
  // For a user that exists, a failed query is an error: its source may be a server that is away.
  const passwd = await files.readFirst("/etc/passwd");
  if (passwd?.split("\n").some((line) => line.startsWith(`${user}:`)) !== true) return undefined;
  const uids = await ask("uids", user);
  if (uids === undefined) return undefined;
  const gids = await ask("gids", "-g", user);
  if (uids !== gids) throw new Error(`mismatched subuids and subgids for user "${user}"`);
  return parseSubordinateIds(uids);
}

/** Undefined: the program is not installed. */
async function ask(what: string, ...args: readonly string[]): Promise<string | undefined> {
  try {
    return (await run(TOOL, args, { timeout: LIMIT_MS })).stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const user = args.at(-1);
    throw new Error(`error retrieving additional ${what} for user "${user}": ${errorText(error)}`, { cause: error });
  }
}

/** Parses `0: kubelet 65536 7208960`; throws for anything else. */
export function parseSubordinateIds(output: string): { readonly first: number; readonly length: number } {
  const quoted = JSON.stringify(output);
  const lines = output.replace(/^\n+|\n+$/g, "").split("\n");
  if (lines.length !== 1) throw new Error(`error parsing line ${quoted}: it must contain only one line`);
  const parts = (lines[0] ?? "").split(/\s+/).filter((part) => part !== "");
  if (parts.length !== 4) throw new Error(`invalid line ${quoted}`);
  const [first, length] = parts.slice(2).map((part) => (/^\d{1,10}$/.test(part) ? Number(part) : Number.NaN));
  if (first === undefined || length === undefined || !(first < 2 ** 32) || !(length < 2 ** 32)) {
    throw new Error(`error parsing line ${quoted}`);
  }
  return { first, length };
}
