import { iptablesChainsContract } from "../test/contract/iptables-chains-contract.ts";
import { FakeIptablesChains } from "./fake-iptables-chains.ts";

iptablesChainsContract("the simulator's machine", async () => {
  const chains = new FakeIptablesChains();
  return { chains, rulesOf: async (chain) => chains.rules.get(`IPv4/filter/${chain}`) ?? [] };
});
