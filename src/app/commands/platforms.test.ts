/** `config check` on the configurations of real platforms, which live in test/golden/platforms. */
import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { parse } from "yaml";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { directoryOf, machine } from "../../../test/support/options.ts";
import { configCheckCommand } from "./config-check.ts";

const PLATFORMS = join(import.meta.dirname, "../../../test/golden/platforms");

interface Platform {
  readonly flags: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  /** Every setting of the platform that has no effect here. */
  readonly withoutEffect: readonly string[];
}

function check(t: TestContext, { flags, files }: Platform) {
  const pem = "-----BEGIN CERTIFICATE-----\nQ0E=\n-----END CERTIFICATE-----\n";
  const directory = directoryOf(t, { "ca.crt": pem, "kubelet-client-current.pem": pem });
  const placed = (text: string) => text.replaceAll("$DIR", directory);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), placed(text));
  }
  const said = { stdout: "", stderr: "" };
  const io = {
    clock: new ManualClock(),
    pid: 1,
    machine: () => machine,
    isColored: false,
    isInteractive: false,
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const exitCode = configCheckCommand([...flags.map(placed), "--output=json"], io);
  const unplaced = (text: string) => text.replaceAll(directory, "$DIR");
  return { exitCode, stdout: unplaced(said.stdout), stderr: unplaced(said.stderr) };
}

describe("config check accepts the configuration of", () => {
  for (const file of globSync("*.yaml", { cwd: PLATFORMS }).toSorted()) {
    test(`${basename(file, ".yaml")}, and lists every setting without effect`, (t) => {
      const platform = parse(readFileSync(join(PLATFORMS, file), "utf8")) as Platform;
      const { exitCode, stdout, stderr } = check(t, platform);
      assert.deepEqual([exitCode, stderr], [0, ""]);
      const { warnings, notImplemented } = JSON.parse(stdout) as {
        readonly warnings: readonly string[];
        readonly notImplemented: readonly string[];
      };
      assert.deepEqual([...warnings, ...notImplemented], platform.withoutEffect);
    });
  }
});
