import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { Command } from "commander";
import { completionScript } from "./completion.ts";

function program(): Command {
  const deckhand = new Command("deckhand");
  deckhand.command("kubelet");
  const explain = deckhand.command("explain").alias("why");
  explain.command("pod");
  explain.command("node");
  return deckhand;
}

/** Completes the last word as bash does. */
function completed(...words: readonly string[]): readonly string[] {
  const list = ["deckhand", ...words].map((word) => `'${word}'`).join(" ");
  const script = `${completionScript(program(), "bash")}
COMP_WORDS=(${list}); COMP_CWORD=${words.length}; _deckhand; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""]);
  return stdout.trimEnd().split("\n");
}

describe("completion", () => {
  test("completes commands, their subcommands and their flags in bash", () => {
    assert.deepEqual(completed("k"), ["kubelet"]);
    assert.deepEqual(completed("e"), ["explain"]);
    assert.deepEqual(completed("explain", ""), ["pod", "node", "--help"]);
    assert.deepEqual(completed("why", "p"), ["pod"]);
    assert.deepEqual(completed("explain", "pod", "web", "--u"), ["--uid"]);
    assert.deepEqual(completed("why", "node", "--r"), ["--root-dir"]);
    assert.deepEqual(completed("kubelet", "--max-o"), ["--max-open-files"]);
  });

  test("names every command in the scripts for zsh and fish", () => {
    assert.match(completionScript(program(), "zsh"), /^autoload -U \+X bashcompinit && bashcompinit\n_deckhand\(\) \{/);
    const fish = completionScript(program(), "fish");
    assert.match(fish, /-n "__fish_use_subcommand" -a explain\n/);
    assert.match(fish, /-n "__deckhand_at explain pod" -l uid\n/);
  });
});
