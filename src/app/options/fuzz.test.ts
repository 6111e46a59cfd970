/**
 * Any file and any command line yield options, or one sentence that says why not: never another error, never a hang.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { directoryOf, machine } from "../../../test/support/options.ts";
import { FileFault } from "./config-files.ts";
import { FIELD_PATHS } from "./fields.ts";
import { FLAGS } from "./flag-table.ts";
import { readKubeconfig } from "./kubeconfig.ts";
import { loadOptions, OptionsFault } from "./load-options.ts";

const expectOnly = (kind: new (...args: never[]) => Error, run: () => unknown) => {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof kind, String(error instanceof Error ? error.stack : error));
  }
};

const words = fc.constantFrom(
  "5s",
  "10%",
  "1Gi",
  "-1",
  "yes",
  "x",
  "",
  "NoSchedule",
  "/a/b",
  "memory.available",
  "__proto__",
);
const leaf = fc.oneof(words, fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.string());
const value = fc.oneof(
  leaf,
  fc.array(leaf, { maxLength: 3 }),
  fc.dictionary(fc.oneof(words, fc.string()), leaf, { maxKeys: 3 }),
);
const names = fc.oneof(fc.constantFrom(...FIELD_PATHS.map((path) => path.split(".")[0] ?? "")), fc.string());

void test("[1.3] [1.4] random documents as file and drop-in give options or OptionsFault", (t) => {
  const directory = directoryOf(t, { "d/a.conf": "" });
  const document = fc.dictionary(names, value, { maxKeys: 6 });
  fc.assert(
    fc.property(document, document, (file, dropIn) => {
      const header = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
      writeFileSync(join(directory, "c.yaml"), JSON.stringify({ ...file, ...header }));
      writeFileSync(join(directory, "d/a.conf"), JSON.stringify({ ...dropIn, ...header }));
      const args = ["--config", join(directory, "c.yaml")];
      expectOnly(OptionsFault, () => loadOptions(args, machine));
      expectOnly(OptionsFault, () => loadOptions([...args, "--config-dir", join(directory, "d")], machine));
    }),
    { numRuns: 300 },
  );
});

void test("[1.3] [27.1.3] random text as configuration file and kubeconfig gives a result or a fault", (t) => {
  const directory = directoryOf(t, {});
  const yamlish = fc.array(
    fc.oneof(
      words,
      fc.constantFrom(": ", "\n", "- ", "{", "[", "]", "&a ", "*a", "!!x ", "'", '"', "|\n ", "---\n", "<<: "),
      fc.string(),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(yamlish, (parts) => {
      writeFileSync(join(directory, "c.yaml"), parts.join(""));
      expectOnly(OptionsFault, () => loadOptions(["--config", join(directory, "c.yaml")], machine));
      expectOnly(FileFault, () => readKubeconfig(join(directory, "c.yaml")));
    }),
    { numRuns: 300 },
  );
});

void test("[1.2] random command lines give options or OptionsFault", () => {
  // The test must not read files of this machine.
  const flags = FLAGS.map(({ name }) => name).filter((name) => name !== "config" && name !== "config-dir");
  const argument = fc.oneof(
    fc.tuple(fc.constantFrom(...flags), fc.oneof(words, fc.string())).map(([name, text]) => `--${name}=${text}`),
    fc.string().filter((text) => !text.replaceAll("_", "-").startsWith("--config")),
  );
  fc.assert(
    fc.property(fc.array(argument, { maxLength: 6 }), (args) =>
      expectOnly(OptionsFault, () => loadOptions(args, machine)),
    ),
    { numRuns: 500 },
  );
});
