/** Runs the contract of kube-apiserver behind wire/kube-api against the fake API server, in virtual time. */
import { namespaces, serviceAccounts } from "../../src/api/resources.ts";
import { forever } from "../../test/contract/api-server/world.ts";
import { apiServerContract } from "../../test/contract/api-server-contract.ts";
import { DemandDriver } from "../demand-driver.ts";
import { PortCalls } from "../port-calls.ts";
import { SeededRandom } from "../seeded-random.ts";
import { Trace } from "../trace.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { FakeApiServer } from "./fake-api-server.ts";

for (const [name, latencyMs] of [
  ["the fake API server", 0],
  ["the fake API server behind a slow connection", 20],
] as const) {
  apiServerContract(name, async () => {
    const clock = new VirtualClock();
    const random = new SeededRandom("api contract");
    const spread = latencyMs > 0 ? { latencyMs: () => random.fraction() * latencyMs } : {};
    const calls = new PortCalls({ clock, trace: new Trace(), random: random.split("calls"), ...spread });
    const server = new FakeApiServer({ clock, random: random.split("api") });
    const driver = new DemandDriver(clock);
    const api = driver.drive(server.connect(calls.begin("contract", 1)));
    return {
      api,
      namespace: async () => {
        const { metadata } = await api.create(namespaces, { metadata: { generateName: "t-" } }, forever);
        const namespace = metadata?.name ?? "";
        await api.create(serviceAccounts, { metadata: { namespace, name: "default" } }, forever);
        return namespace;
      },
      asNode: async (name) => driver.drive(server.connect(calls.begin(name, 1), { kind: "node", name })),
      forgetHistory: async () => server.forgetHistory(),
      close: async () => {},
    };
  });
}
