/** `deckhand completion bash|zsh|fish`: prints a script that completes commands and flags in that shell. */

import type { Command } from "commander";
import { FLAGS } from "../options/flag-table.ts";
import { WHAT_IF_FLAGS } from "./eviction.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

const KUBELET_FLAGS = FLAGS.map(({ name }) => `--${name}`);
const EXPLAIN_FLAGS = ["--output", "--root-dir", "--help"];

/** Flags of the commands that parse their arguments themselves, by the command's path. */
const FLAGS_OF: Readonly<Record<string, readonly string[]>> = {
  kubelet: KUBELET_FLAGS,
  doctor: ["--output", "--fail-on", "--help", ...KUBELET_FLAGS],
  "config check": ["--output", "--help", ...KUBELET_FLAGS],
  "orphans list": ["--output", "--help", ...KUBELET_FLAGS],
  "orphans explain": ["--output", "--help", ...KUBELET_FLAGS],
  "orphans clean": ["--help", ...KUBELET_FLAGS],
  "explain pod": ["--namespace", "--uid", ...EXPLAIN_FLAGS],
  "explain node": EXPLAIN_FLAGS,
  "gc plan": ["--output", "--root-dir", "--help"],
  "eviction what-if": [...WHAT_IF_FLAGS, "--output", "--root-dir", "--help"],
  version: ["--output", "--help"],
};

interface Place {
  /** The command and its parents, without the program. */
  readonly path: readonly string[];
  /** What may follow. */
  readonly words: readonly string[];
}

export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, []);
  return shell === "fish" ? fishScript(places) : bashScript(places, shell);
}

function placesOf(command: Command, path: readonly string[]): readonly Place[] {
  const children = command.commands.flatMap((child) =>
    [child.name(), ...child.aliases()].map((name) => ({ child, name })),
  );
  const canonical = path.map((name, index) => (index === 0 && name === "why" ? "explain" : name)).join(" ");
  const words = [...children.map(({ name }) => name), ...(FLAGS_OF[canonical] ?? ["--help"])];
  return [{ path, words }, ...children.flatMap(({ child, name }) => placesOf(child, [...path, name]))];
}

function bashScript(places: readonly Place[], shell: "bash" | "zsh"): string {
  const paths = places.map(({ path }) => `/${path.join("/")}`);
  const cases = places.map(({ path, words }) => `    ${JSON.stringify(path.join("/"))}) words="${words.join(" ")}" ;;`);
  return `${shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""}_deckhand() {
  local at="" word words=""
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case " ${paths.join(" ")} " in
      *" /\${at:+$at/}$word "*) at="\${at:+$at/}$word" ;;
    esac
  done
  case "$at" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _deckhand deckhand
`;
}

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words }) => {
    const condition = path.length === 0 ? "__fish_use_subcommand" : `__deckhand_at ${path.join(" ")}`;
    return words.map((word) => {
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${word}`;
      return `complete -c deckhand -n "${condition}" ${what}`;
    });
  });
  return `function __deckhand_at
    set -l words (commandline -opc)
    test (count $words) -gt (count $argv); and test "$words[2..(math (count $argv) + 1)]" = "$argv"
end
complete -c deckhand -e
${lines.join("\n")}
`;
}
