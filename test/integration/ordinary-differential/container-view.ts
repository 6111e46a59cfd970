/**
 * Collects what a container itself sees: arguments, user, environment, hosts, resolver, host name, mounts, and every
 * file below /v. One shell script prints all of it to the log, from where the test reads it.
 */
import { readFile } from "node:fs/promises";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import type { ClusterNode } from "../../cluster/cluster.ts";
import { onMachine, podLogDirectoryOf } from "../../support/node-files.ts";
import { type MountLine, parseMountinfo } from "./mountinfo.ts";

const DIRECTORIES = "/v /var/run/secrets";

/** Contains no `$(` and no `$$`: the API expands those. */
export const VIEW = `
section() { printf '=== %s\\n' "$1"; }
bytes() { { base64 -w 0 < "$1"; } 2>/dev/null || printf denied; echo; }
section begin
section arguments; for one in "$0" "$@"; do printf '%s' "$one" | base64 -w 0; echo; done
section user; id -u; id -g; id -G
section environment; bytes /proc/self/environ
section hosts; bytes /etc/hosts
section resolver; bytes /etc/resolv.conf
section hostname; hostname
section mounts; cat /proc/self/mountinfo
section files
find ${DIRECTORIES} 2>/dev/null | sort | while IFS= read -r path; do
  printf '%s|' "$path"
  stat -c '%F|%a|%u|%g' "$path"
  if [ -L "$path" ]; then printf 'link '; readlink "$path"; elif [ -f "$path" ]; then printf 'bytes '; bytes "$path"; else echo none; fi
done
section end`;

const END = "=== end";

export interface SeenFile {
  readonly path: string;
  readonly kind: string;
  readonly mode: string;
  readonly owner: string;
  /** The target of a symlink, or the file content: as text if possible, otherwise in hexadecimal. */
  readonly holds: string;
}

export interface ContainerView {
  readonly arguments: readonly string[];
  readonly user: readonly string[];
  readonly environment: readonly string[];
  readonly hosts: string;
  /** With sorted options: the Go kubelet's order varies. */
  readonly resolver: string;
  readonly hostname: string;
  readonly mounts: readonly MountLine[];
  readonly files: readonly SeenFile[];
}

/** The stdout of one run of a container, with lines that the runtime split joined again. stderr is left out. */
export async function logText(node: ClusterNode, pod: Pod, container: string, run = 0): Promise<string> {
  const text = await readFile(onMachine(node, `${podLogDirectoryOf(pod)}/${container}/${run}.log`), "utf8");
  const lines = text.matchAll(/^\S+ stdout (?<part>[FP]) (?<line>.*)\n/gm);
  return [...lines].map(([, part, line]) => (part === "P" ? line : `${line}\n`)).join("");
}

/** Number of views that the log contains completely. */
export const viewsEnded = (log: string): number => log.split(END).length - 1;

/** In the order they were printed. Text before the first view is ignored. */
export const parseViews = (log: string): readonly ContainerView[] =>
  log
    .split("=== begin\n")
    .slice(1)
    .map((text) => parseView(text.slice(0, text.indexOf(END))));

const DENIED = "denied";

function parseView(text: string): ContainerView {
  const sections = new Map<string, readonly string[]>();
  for (const part of text.split("=== ").slice(1)) {
    const [name = "", ...lines] = part.split("\n");
    sections.set(name, lines.slice(0, -1));
  }
  const lines = (name: string) => sections.get(name) ?? [];
  const decoded = (name: string) => contentOf(lines(name)[0] ?? DENIED);
  return {
    arguments: lines("arguments").map(contentOf),
    user: lines("user"),
    environment: variablesIn(lines("environment")[0] ?? DENIED),
    hosts: decoded("hosts"),
    resolver: decoded("resolver").replace(/(?<=^options ).*$/m, (options) => options.split(" ").toSorted().join(" ")),
    hostname: lines("hostname").join("\n"),
    mounts: parseMountinfo(lines("mounts").join("\n"), isOurs),
    files: filesIn(lines("files")),
  };
}

const isOurs = (point: string): boolean =>
  point === "/etc/hosts" || point === "/dev/termination-log" || /^\/(?:v|var\/run\/secrets)(?:\/|$)/.test(point);

function filesIn(lines: readonly string[]): readonly SeenFile[] {
  const files: SeenFile[] = [];
  for (let index = 0; index + 1 < lines.length; index += 2) {
    const [path = "", kind = "", mode = "", uid = "", gid = ""] = (lines[index] ?? "").split("|");
    const [what, held = ""] = (lines[index + 1] ?? "").split(/ (?<rest>.*)/s);
    const holds = what === "bytes" ? contentOf(held) : held;
    files.push({ path, kind, mode, owner: `${uid}:${gid}`, holds });
  }
  return files;
}

/** Converts each variable separately: the bytes of one may be no text. */
function variablesIn(base64: string): readonly string[] {
  const each = Buffer.from(base64, "base64").toString("latin1").split("\0").filter(Boolean);
  return each.map((one) => textOf(Buffer.from(one, "latin1"))).toSorted();
}

const contentOf = (base64: string): string => (base64 === DENIED ? "<denied>" : textOf(Buffer.from(base64, "base64")));

/** As text if possible, otherwise in hexadecimal. */
export function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : `hex ${bytes.toString("hex")}`;
}
