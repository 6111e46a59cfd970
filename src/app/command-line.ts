/** What the program answers to its arguments. Today it can tell about itself and nothing else: the kubelet is not built yet. */
import { DECKHAND_VERSION, KUBERNETES_VERSION } from "./version.ts";

export interface Answer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const USAGE = `Usage: deckhand [--version | --help]

Deckhand is a Kubernetes node agent, meant as a drop-in for the Go kubelet ${KUBERNETES_VERSION}.
This version cannot run a node yet. docs/compatibility.md lists what is there.

  --version   print the version and exit
  --help      print this and exit
`;

const EXIT_USAGE = 2;

export function answer(args: readonly string[]): Answer {
  const [first, ...rest] = args;
  if (first === "--version" && rest.length === 0) {
    return say(`deckhand ${DECKHAND_VERSION} (Kubernetes ${KUBERNETES_VERSION})\n`);
  }
  if (first === "--help" && rest.length === 0) return say(USAGE);
  const what = first === undefined ? "running as a node agent" : `"${args.join(" ")}"`;
  const reason = `deckhand ${DECKHAND_VERSION}: ${what} is not there yet; it knows --version and --help only\n`;
  return { exitCode: EXIT_USAGE, stdout: "", stderr: reason };
}

const say = (stdout: string): Answer => ({ exitCode: 0, stdout, stderr: "" });
