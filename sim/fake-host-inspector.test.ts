import { hostInspectorContract } from "../test/contract/host-inspector-contract.ts";
import { FakeHostInspector } from "./fake-host-inspector.ts";

hostInspectorContract("the simulator's host", async () => {
  const inspector = new FakeHostInspector();
  inspector.files.set("/srv/a", "text");
  inspector.listening = [{ address: "127.0.0.1", port: 80, process: { pid: 5, command: "httpd" } }];
  return { inspector, directory: "/srv", port: 80, program: "mount" };
});
