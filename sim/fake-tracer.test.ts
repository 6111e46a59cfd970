import { tracerContract } from "../test/contract/tracer-contract.ts";
import { FakeTracer } from "./fake-tracer.ts";
import { VirtualClock } from "./virtual-clock.ts";

tracerContract("the simulator's tracer", () => {
  const tracer = new FakeTracer(new VirtualClock());
  return { tracer, finished: tracer.finished };
});
