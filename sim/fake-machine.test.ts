import { machineContract } from "../test/contract/machine-contract.ts";
import { FakeMachine } from "./fake-machine.ts";

machineContract("the simulator's machine", () => {
  const machine = new FakeMachine("node-1");
  machine.names.set("node-1", ["198.18.255.10"]);
  return { machine, paths: ["/var/lib", "/var/lib/kubelet"], names: { known: "node-1", unknown: "nowhere" } };
});
