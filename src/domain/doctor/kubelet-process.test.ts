import assert from "node:assert/strict";
import { test } from "node:test";
import { kubeletKind } from "./kubelet-process.ts";

for (const [args, executable, kind] of [
  [["/usr/bin/kubelet", "--config=x"], "/usr/bin/kubelet", "other"],
  [["/usr/bin/kubelet", "--config=x"], "/usr/bin/deckhand", "deckhand"],
  [["deckhand", "kubelet", "--v=2"], "/usr/bin/deckhand", "deckhand"],
  [["deckhand", "doctor"], "/usr/bin/deckhand", undefined],
  [["node", "--enable-source-maps", "/a/src/app/main.ts", "kubelet"], "/opt/node/bin/node", "deckhand"],
  [["node", "/a/src/app/main.ts", "explain"], "/opt/node/bin/node", undefined],
  [["node", "/usr/lib/node_modules/.bin/kubelet", "--v=2"], "/usr/bin/node", "deckhand"],
  [["node", "/usr/lib/node_modules/.bin/kubelet", "volume-helper"], "/usr/bin/node", undefined],
  [["node", "/a/src/app/main.ts", "volume-helper"], "/usr/bin/node", undefined],
  [["/usr/bin/kubelet", "volume-helper"], "/usr/bin/deckhand", undefined],
  [["/a/dist/deckhand.js", "kubelet"], "/usr/bin/vim", undefined],
  [["kubeadm", "kubelet"], "/usr/bin/kubeadm", undefined],
  [["vim", "kubelet"], "/usr/bin/vim", undefined],
  [[], "", undefined],
] as const) {
  test(`${args.join(" ") || "nothing"}, run by ${executable || "nothing"}: ${kind ?? "no kubelet"}`, () =>
    assert.equal(kubeletKind(args, executable), kind));
}
