import { hostSignsContract } from "../test/contract/host-signs-contract.ts";
import { FakeHostSigns } from "./fake-host-signs.ts";

hostSignsContract("the simulator's host", async () => {
  const signs = new FakeHostSigns();
  signs.files.set("/srv/a", "text");
  signs.listening = [{ address: "127.0.0.1", port: 80, process: { pid: 5, command: "httpd" } }];
  return { signs, directory: "/srv", port: 80, program: "mount" };
});
