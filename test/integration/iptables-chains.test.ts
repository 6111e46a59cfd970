/** The packet chains port on real iptables, in the test's own network namespace, which is removed with it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { createIptablesChains } from "../../src/wire/iptables/iptables-chains.ts";
import { waitUntil } from "../cluster/wait.ts";
import { iptablesChainsContract } from "../contract/iptables-chains-contract.ts";

const holders: ChildProcess[] = [];

after(async () => {
  for (const holder of holders) {
    holder.kill("SIGKILL");
    if (holder.exitCode === null && holder.signalCode === null) await once(holder, "exit");
  }
});

/** True once the process is in its own namespace: until then it has another name, and is still in this one. */
const isSleep = (pid: number) => execFileSync("cat", [`/proc/${pid}/comm`], { encoding: "utf8" }).trim() === "sleep";

iptablesChainsContract("iptables", async () => {
  const holder = spawn("setpriv", ["--pdeathsig", "SIGKILL", "unshare", "--net", "sleep", "600"], { stdio: "ignore" });
  holders.push(holder);
  await once(holder, "spawn");
  const pid = holder.pid ?? 0;
  await waitUntil("the namespace", 10_000, async () => isSleep(pid));
  const prefix = ["nsenter", "-t", String(pid), "--net"];
  return {
    chains: createIptablesChains({ prefix }),
    rulesOf: async (chain) => {
      const [file, ...args] = [...prefix, "iptables", "-t", "filter", "-S", chain];
      const lines = execFileSync(file, args, { encoding: "utf8" }).split("\n");
      return lines.filter((line) => line.startsWith("-A ")).map((line) => line.slice(`-A ${chain} `.length));
    },
  };
});
