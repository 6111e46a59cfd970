import { packetChainsContract } from "../test/contract/packet-chains-contract.ts";
import { FakePacketChains } from "./fake-packet-chains.ts";

packetChainsContract("the simulator's machine", async () => {
  const chains = new FakePacketChains();
  return { chains, rulesOf: async (chain) => chains.rules.get(`IPv4/filter/${chain}`) ?? [] };
});
