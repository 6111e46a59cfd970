/**
 * The IptablesChains port over the programs iptables and ip6tables, run with an argument list and never through a
 * shell.
 */
import { execFile } from "node:child_process";
import type { IptablesChains, PacketFamily } from "../../ports/iptables-chains.ts";
import { errnoOf } from "../host/errno.ts";

const PROGRAMS: Readonly<Record<PacketFamily, string>> = { IPv4: "iptables", IPv6: "ip6tables" };
const LIMIT_MS = 30_000;
/** Wait up to 5 seconds while another process holds the tables. */
const WAIT = ["-w", "5"];
/** The exit code for "the chain exists already" and "there is no such rule". */
const NO = 1;

interface Answer {
  readonly code: number;
  readonly text: string;
}

export interface IptablesChainsOptions {
  /** Arguments placed before the program, to run it elsewhere. */
  readonly prefix?: readonly string[];
}

export function createIptablesChains({ prefix = [] }: IptablesChainsOptions = {}): IptablesChains {
  const run = (family: PacketFamily, ...args: readonly string[]) =>
    ask([...prefix, PROGRAMS[family], ...WAIT, ...args]);
  const required = async (family: PacketFamily, ...args: readonly string[]) => {
    const answer = await run(family, ...args);
    if (answer?.code !== 0) throw failure(family, args, answer);
  };
  return {
    async families() {
      const found: PacketFamily[] = [];
      for (const family of ["IPv4", "IPv6"] as const) {
        // The program may exist while the kernel has no such table.
        if ((await run(family, "-t", "nat", "-S", "POSTROUTING"))?.code === 0) found.push(family);
      }
      return found;
    },
    async hasChain(family, table, chain) {
      const args = ["-t", table, "-S", chain];
      const answer = await run(family, ...args);
      if (answer?.code === 0) return true;
      if (answer?.code === NO) return false;
      throw failure(family, args, answer);
    },
    async ensureChain(family, table, chain) {
      const args = ["-t", table, "-N", chain];
      const answer = await run(family, ...args);
      if (answer?.code !== 0 && !(answer?.code === NO && /exists/.test(answer.text)))
        throw failure(family, args, answer);
    },
    async ensureRule(family, { table, chain, rule }, place) {
      const args = ["-t", table, "-C", chain, ...rule];
      const answer = await run(family, ...args);
      if (answer?.code === 0) return;
      if (answer?.code !== NO) throw failure(family, args, answer);
      await required(family, "-t", table, place === "first" ? "-I" : "-A", chain, ...rule);
    },
  };
}

const failure = (family: PacketFamily, args: readonly string[], answer: Answer | undefined) =>
  new Error(
    `${PROGRAMS[family]} ${args.join(" ")}: ${answer === undefined ? "there is no such program" : `${answer.text.trim()} (${answer.code})`}`,
  );

/** Undefined: the program is not installed. */
function ask([file = "", ...args]: readonly string[]): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { timeout: LIMIT_MS }, (error, stdout, stderr) => {
      const text = stdout + stderr;
      if (error === null) resolve({ code: 0, text });
      else if (errnoOf(error) === "ENOENT") resolve(undefined);
      else if (typeof error.code === "number") resolve({ code: error.code, text });
      else reject(error);
    });
  });
}
