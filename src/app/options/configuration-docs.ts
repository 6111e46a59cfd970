/** Generates docs/configuration.md from the tables; a test checks that the page is current. */
import { AGENT_FLAG_NAMES, AGENT_FLAGS } from "./agent-flags.ts";
import { encodeValue } from "./decode-configuration.ts";
import { DEFAULT_EVICTION_HARD } from "./defaults.ts";
import type { Support } from "./field.ts";
import { FIELD_PATHS, type FieldPath, fieldOf } from "./fields.ts";

const INTRODUCTION = `# Configuration

Deckhand takes what the Go kubelet v1.36.4 takes: the same \`KubeletConfiguration\` (\`kubelet.config.k8s.io/v1beta1\`) with \`--config\`, the same
drop-ins with \`--config-dir\`, the same flags. Defaults, then the file, then the drop-ins in lexical order, then flags; feature gates are merged key by key.

\`deckhand config check [kubelet flags]\` prints the configuration that would run, where each value came from, and what to know about it; its exit code
is 1 when the kubelet would not start.

What becomes of a field:

- **supported**: it does what it does in the Go kubelet.
- **accepted**: it is taken without effect, for the reason given. Set to other than its default, it warns.
- **warned**: what it is for is not built yet. Set to other than its default, it warns at every start.
- **refused**: set to other than its default, the start fails.

Without \`--config\` four defaults are the old, open ones, as in the Go kubelet: \`authentication.anonymous.enabled\` true,
\`authentication.webhook.enabled\` false, \`authorization.mode\` AlwaysAllow, \`readOnlyPort\` 10255; and there are no eviction thresholds.

One default differs from the Go kubelet's: where neither \`serializeImagePulls\` nor \`maxParallelImagePulls\` is set, up to five images are pulled at
once, so that a big one does not hold up the others. Set to true, one is pulled after the other; set to false, all at once or as many as \`maxParallelImagePulls\`.

This page is written from the tables in \`src/app/options\`: \`UPDATE_DOCS=1 node --test src/app/options/configuration-docs.test.ts\`.
`;

export function configurationDocs(): string {
  const fields = FIELD_PATHS.map(
    (path) => `| \`${path}\` | ${initialOf(path)} | ${flagOf(path)} | ${describe(fieldOf(path).support)} |`,
  );
  const flags = AGENT_FLAG_NAMES.map((name) => {
    const { initial, support } = AGENT_FLAGS[name];
    return `| \`--${name}\` | ${code(initial)} | ${describe(support)} |`;
  });
  return [
    INTRODUCTION,
    "## Fields\n",
    "| field | default | flag | what becomes of it |",
    "|---|---|---|---|",
    ...fields,
    "\n## Flags that are no fields\n",
    "| flag | default | what becomes of it |",
    "|---|---|---|",
    ...flags,
    "",
  ].join("\n");
}

const code = (text: string) => (text === "" ? "" : `\`${text}\``);
const flagOf = (path: FieldPath) => code(fieldOf(path).flag === undefined ? "" : `--${fieldOf(path).flag}`);

function initialOf(path: FieldPath): string {
  if (path === "evictionHard") return `with \`--config\`: ${code(JSON.stringify(DEFAULT_EVICTION_HARD))}`;
  const { initial } = fieldOf(path);
  if (initial === undefined || initial === "") return "";
  const written = encodeValue(initial, path);
  return code(typeof written === "string" ? written : JSON.stringify(written));
}

function describe(support: Support): string {
  switch (support.kind) {
    case "supported":
      return "supported";
    case "accepted":
    case "refused":
      return `${support.kind}: ${support.why}`;
    case "warned":
      return `warned, waits for ${support.waits}`;
  }
}
