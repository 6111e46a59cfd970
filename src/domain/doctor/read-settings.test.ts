import assert from "node:assert/strict";
import { test } from "node:test";
import { configurationName, networkConfiguration } from "./network-configuration.ts";
import { NO_SETTINGS, runtimeSettings } from "./runtime-settings.ts";

test("runtime settings are read from containerd's reported configuration and not assumed for other runtimes", () => {
  const handler = (isSystemd: boolean) => ({
    defaultRuntimeName: "runc",
    runtimes: { runc: { options: { SystemdCgroup: isSystemd } } },
  });
  const reported = (config: object) => runtimeSettings({ config: JSON.stringify(config) });
  assert.deepEqual(reported({ cni: { confDir: "/c", binDirs: ["/a", "/b"] }, containerd: handler(true) }), {
    networkDirectory: "/c",
    networkProgramDirectories: ["/a", "/b"],
    driver: "systemd",
    needsLoopback: true,
  });
  assert.deepEqual(reported({ cni: { binDir: "/old" }, containerd: handler(false) }), {
    ...NO_SETTINGS,
    networkProgramDirectories: ["/old"],
    driver: "cgroupfs",
    needsLoopback: true,
  });
  assert.equal(reported({ cni: { useInternalLoopback: true } }).needsLoopback, false);
  assert.deepEqual(reported({ sandboxImage: "pause" }), NO_SETTINGS, "as CRI-O");
  assert.deepEqual(runtimeSettings({ other: "{" }), NO_SETTINGS);
  assert.throws(() => runtimeSettings({ config: "{" }), SyntaxError);
});

test("the first network configuration by name is used", () => {
  assert.equal(configurationName(["99-b.conf", "README", "10-a.conflist.bak", "20-c.json"]), "20-c.json");
  assert.equal(configurationName(["x.conflist.bak"]), undefined);
});

for (const [what, file, text, plugins] of [
  [
    "a list",
    "a.conflist",
    '{"name":"n","plugins":[{"type":"bridge","ipam":{"type":"host-local"}},{"type":"portmap"}]}',
    ["bridge", "host-local", "portmap"],
  ],
  ["a single plug-in", "a.conf", '{"name":"n","type":"ptp","ipam":{}}', ["ptp"]],
  ["a list without plug-ins", "a.conflist", '{"name":"n","plugins":[]}', { fault: "it names no plug-ins" }],
  [
    "a single plug-in in a .conflist file",
    "a.conflist",
    '{"name":"n","type":"ptp"}',
    { fault: "it names no plug-ins" },
  ],
  ["a plug-in without a type", "a.conf", '{"name":"n"}', { fault: "a plug-in has no type" }],
  ["a configuration without a name", "a.conf", '{"type":"ptp"}', { fault: "it has no name" }],
  ["truncated JSON", "a.conf", '{"name":', { fault: "it is no JSON" }],
  ["null", "a.conf", "null", { fault: "a plug-in has no type" }],
] as const) {
  test(`a network configuration: ${what}`, () => assert.deepEqual(networkConfiguration(file, text), { file, plugins }));
}
