import { proberContract } from "../../../test/contract/prober-contract.ts";
import { openProbeServers } from "../../../test/support/probe-servers.ts";
import { hostClock } from "../host/clock.ts";
import { createProber } from "./prober.ts";

proberContract("Node's clients", async () => {
  const servers = await openProbeServers();
  const { host, ports } = servers;
  return {
    prober: createProber(hostClock),
    host,
    ports,
    pass: () => Promise.resolve(),
    close: async () => servers[Symbol.asyncDispose](),
  };
});
