/**
 * Helpers for tests of the options: a directory with files, and the whole path from arguments to options on a fake
 * machine.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { type Loaded, loadOptions } from "../../src/app/options/load-options.ts";
import type { MachineOfOptions } from "../../src/app/options/machine-facts.ts";

export const machine: MachineOfOptions = {
  hostname: "Node-1",
  cgroupVersion: 2,
  uid: 0,
  workingDirectory: "/working",
  homeDirectory: "/root",
};

export const HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

/** Creates a directory with these files; it is removed after the test. */
export function directoryOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), "deckhand-options-"));
  t.after(() => rmSync(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

export type LoadedOptions = Extract<Loaded, { readonly kind: "options" }>;

export function load(args: readonly string[], on: MachineOfOptions = machine): LoadedOptions {
  const loaded = loadOptions(args, on);
  if (loaded.kind !== "options") throw new Error(`no options but ${loaded.kind}`);
  return loaded;
}

export function faultOf(args: readonly string[], on: MachineOfOptions = machine): string {
  try {
    loadOptions(args, on);
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error("nothing is wrong with it");
}
