/** Generates docs/configuration.md from the tables; a test checks that the page is current. */
import { AGENT_FLAG_NAMES, AGENT_FLAGS } from "./agent-flags.ts";
import { encodeValue } from "./decode-configuration.ts";
import { DEFAULT_EVICTION_HARD } from "./defaults.ts";
import type { Support } from "./field.ts";
import { FIELD_PATHS, type FieldPath, fieldOf } from "./fields.ts";

const INTRODUCTION = `# Configuration

Deckhand reads the configuration of the Go kubelet v1.36.4: the same \`KubeletConfiguration\`
(\`kubelet.config.k8s.io/v1beta1\`) with \`--config\`, the same drop-ins with \`--config-dir\`, and the same flags. Later
sources override earlier ones: defaults, the file, the drop-ins in lexical order, flags. Feature gates are merged by name.

\`deckhand config check [kubelet flags]\` prints the effective configuration, the origin of each value, warnings, and
every configured feature that is not implemented, defaults included. It exits with 1 when the kubelet would not start.

Each field has one of these states:

- **supported**: the field works as in the Go kubelet.
- **accepted**: the field has no effect, for the given reason. A value other than the default causes a warning.
- **unimplemented**: the field configures a feature that does not exist yet. A value other than the default causes a
  warning at every start.
- **refused**: the kubelet does not start with a value other than the default.

Without \`--config\`, four defaults are the old, open ones, as in the Go kubelet: \`authentication.anonymous.enabled\` is
true, \`authentication.webhook.enabled\` is false, \`authorization.mode\` is AlwaysAllow, and \`readOnlyPort\` is 10255.
There are no eviction thresholds.

## --deckhand-compatibility

\`--deckhand-compatibility\` decides three kinds of difference from the Go kubelet, and nothing else. All other
[deviations](deviations.md) are the same in both modes.

| | \`strict\` (default): as the Go kubelet | \`enhanced\` |
| --- | --- | --- |
| image pulls when neither \`serializeImagePulls\` nor \`maxParallelImagePulls\` is set | one at a time | up to five in parallel, so that a large image does not delay the others |
| a pod while the node's allocatable resources, or the RuntimeClasses that it needs, are unknown | decided after 5 seconds with what is known: rejected, or its sandbox fails and is retried | waits as long as it takes, with the reason \`WaitingForNode\` or \`WaitingForRuntimeClass\` in its status and an event |
| at the start, a serving certificate, a client CA file, a cgroup for reserved resources or for a QoS class, or a checkpoint of allocated resources that is missing or broken; more reserved than the machine has; a taken port | the kubelet exits with an error | it starts, reports the fault and retries; a broken checkpoint is renamed to \`.corrupt\` |

## --deckhand-memory-signal

\`--deckhand-memory-signal\` decides what the eviction signal \`memory.available\` is:

- \`working-set\` (default): the capacity without the working set of the root cgroup, as in the Go kubelet. Active page
  cache counts as used, although the kernel can reclaim it.
- \`mem-available\`: \`MemAvailable\` of \`/proc/meminfo\`, the kernel's own estimate of what can be used without swapping.

This page is generated from the tables in \`src/app/options\`:
\`UPDATE_DOCS=1 node --test src/app/options/configuration-docs.test.ts\`.
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
    "| field | default | flag | state |",
    "|---|---|---|---|",
    ...fields,
    "\n## Flags without a field\n",
    "| flag | default | state |",
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
    case "unimplemented":
      return `unimplemented, waits for ${support.feature}`;
  }
}
