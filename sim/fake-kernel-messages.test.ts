import { kernelMessagesContract } from "../test/contract/kernel-messages-contract.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { FakeKernelMessages } from "./fake-kernel-messages.ts";

kernelMessagesContract("the simulator's kernel", async () => {
  const messages = new FakeKernelMessages();
  const clock = new ManualClock();
  return {
    messages,
    say: async (...lines) => messages.say(...lines),
    close: async () => {
      messages.trouble = "EACCES";
    },
    pass: () => clock.advance(1),
  };
});
