import { ownProcessContract } from "../test/contract/own-process-contract.ts";
import { FakeOwnProcess } from "./fake-own-process.ts";
import { VirtualClock } from "./virtual-clock.ts";

ownProcessContract("the simulator's process", () => {
  const clock = new VirtualClock();
  return { process: new FakeOwnProcess(clock), nowWallMs: () => clock.wallMs() };
});
