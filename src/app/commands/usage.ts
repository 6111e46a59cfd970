/** `kubelet --help`, generated from the flag table. */
import { AGENT_FLAGS } from "../options/agent-flags.ts";
import { encodeValue } from "../options/decode-configuration.ts";
import { LEGACY } from "../options/defaults.ts";
import { fieldOf } from "../options/fields.ts";
import { FLAGS, type Flag } from "../options/flag-table.ts";

const INTRODUCTION = `Deckhand runs the pods that Kubernetes gives to this machine: it registers the machine as a Node, takes pods from
the API server, from files and from a URL, and makes the container runtime run them.

Usage:
  kubelet [flags]

Flags:
`;

export function kubeletUsage(): string {
  const rows = FLAGS.map((flag) => [left(flag), right(flag)] as const);
  const width = Math.max(...rows.map(([name]) => name.length)) + 3;
  return INTRODUCTION + rows.map(([name, text]) => `${name.padEnd(width)}${text}`.trimEnd()).join("\n") + "\n";
}

const left = ({ name, shorthand, syntax }: Flag) =>
  `${shorthand === undefined ? "      " : `  -${shorthand}, `}--${name}${syntax === "bool" || syntax === "help" ? "" : ` ${syntax}`}`;

function right({ deprecated, target }: Flag): string {
  const initial = initialText(target);
  const parts = [
    target.kind === "field" ? `sets ${target.path}` : "",
    initial === "" ? "" : `(default ${initial})`,
    deprecated === undefined ? "" : "(DEPRECATED)",
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function initialText(target: Flag["target"]): string {
  if (target.kind === "agent") return AGENT_FLAGS[target.name].initial;
  if (target.kind !== "field") return "";
  const initial = LEGACY[target.path] ?? fieldOf(target.path).initial;
  return initial === undefined || initial === "" ? "" : JSON.stringify(encodeValue(initial, target.path));
}
