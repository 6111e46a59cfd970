/**
 * Maintains the iptables chains that other components expect. They are created at startup, checked every minute, and
 * created again after a flush. Deckhand does not need them: if iptables is missing or fails, that is logged and the
 * kubelet runs on.
 */
import { pause } from "../../concurrency/sleep.ts";
import { CANARIES, chainSteps } from "../../domain/host/iptables-chains.ts";
import type { Clock } from "../../ports/clock.ts";
import type { IptablesChains, PacketFamily } from "../../ports/iptables-chains.ts";
import type { Log } from "../../ports/log.ts";

const LOOK_EVERY_MS = 60_000;

export interface IptablesChainsParts {
  readonly chains: IptablesChains;
  readonly clock: Clock;
  readonly log: Log;
}

export async function runIptablesChains(parts: IptablesChainsParts, shutdown: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  const families = await usableFamilies(parts);
  if (families.length === 0) {
    log.info(0, "No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain");
    return;
  }
  const kept: PacketFamily[] = [];
  for (const family of families) {
    const isMade = await make(parts, family);
    if (isMade) kept.push(family);
    log.info(0, isMade ? "Initialized iptables rules." : FAILED, { protocol: family });
  }
  while (!shutdown.aborted && kept.length > 0) {
    await pause(clock, LOOK_EVERY_MS, shutdown);
    for (const family of kept) if (!shutdown.aborted) await look(parts, family);
  }
}

async function usableFamilies({ chains, log }: IptablesChainsParts): Promise<readonly PacketFamily[]> {
  try {
    return await chains.families();
  } catch (error) {
    log.error("Failed to query iptables", error);
    return [];
  }
}

const FAILED = "Failed to initialize iptables rules; some functionality may be missing.";

async function make({ chains, log }: IptablesChainsParts, family: PacketFamily): Promise<boolean> {
  try {
    for (const step of chainSteps(family)) {
      if (step.kind === "chain") await chains.ensureChain(family, step.table, step.chain);
      else await chains.ensureRule(family, step, step.place);
    }
    return true;
  } catch (error) {
    log.error("Failed to ensure that iptables chains exist", error, { protocol: family });
    return false;
  }
}

async function look(parts: IptablesChainsParts, family: PacketFamily): Promise<void> {
  const { chains, log } = parts;
  try {
    for (const { table, chain } of CANARIES) {
      if (await chains.hasChain(family, table, chain)) continue;
      log.info(0, "Reloading after iptables flush", { protocol: family, table });
      await make(parts, family);
      return;
    }
  } catch (error) {
    log.error("Failed to check whether the iptables chains exist", error, { protocol: family });
  }
}
