/**
 * `kubectl why pod NAME` and `kubectl why node NAME`, for a link to this program named `kubectl-why`. It requests the
 * explanation from the node's Deckhand through the API server's node proxy. When the node runs another kubelet, does not
 * answer or does not know the pod, it shows what the API server knows: status and events. kubectl itself makes the
 * requests, with the user's credentials. A user without `get` on `nodes/proxy` gets an error.
 */
import { parseArgs } from "node:util";
import type { Event, Node, Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { nodeFallback, podFallback } from "../../domain/explain/api-fallback.ts";
import { jsonText, printable } from "../../domain/explain/terminal-text.ts";
import { CONFIG_MIRROR } from "../../domain/pod/pod-identity.ts";
import type { CommandIo } from "./io.ts";
import { isOutputFormat, type OutputFormat, outputFault } from "./own-flags.ts";

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl. Rejects if it cannot be started. */
export type RunKubectl = (args: readonly string[]) => Promise<KubectlResult>;

const USAGE = `Usage: kubectl why pod NAME [-n NAMESPACE] [-o text|json] [flags of kubectl]
       kubectl why node NAME [-o text|json] [flags of kubectl]

Explains the state of a pod or of a node: asks the Deckhand of the node through the API server. When the node runs another
kubelet or does not answer, prints status and events instead. The user needs \`get\` on pods and on nodes/proxy.

  -n, --namespace NAMESPACE   namespace of the pod (default: the namespace of kubectl's context)
  -o, --output text|json      output format (default text)

kubectl's flags that select the cluster and the user work too: --context, --kubeconfig, --server, --token, --as and so on.

The right to get nodes/proxy is no small one: whoever has it can run commands in every container of the node.

Exit codes: 0 ok, 1 the pod or the node is unknown or the request was refused, 2 usage error.
`;

const OK = 0;
const FAILED = 1;
const USAGE_ERROR = 2;
const REQUEST_TIMEOUT = "15s";

const one = { type: "string" } as const;
/** Flags of kubectl that select the cluster and the user. */
const KUBECTL_FLAGS = {
  as: one,
  "as-group": { type: "string", multiple: true },
  "as-uid": one,
  "certificate-authority": one,
  "client-certificate": one,
  "client-key": one,
  cluster: one,
  context: one,
  "insecure-skip-tls-verify": { type: "boolean" },
  kubeconfig: one,
  "request-timeout": { type: "string", default: REQUEST_TIMEOUT },
  server: { type: "string", short: "s" },
  "tls-server-name": one,
  token: one,
  user: one,
} as const;

interface Asked {
  readonly kind: "pod" | "node";
  readonly name: string;
  readonly namespace: readonly string[];
  readonly output: OutputFormat;
  /** Flags of kubectl. */
  readonly flags: readonly string[];
}

export async function kubectlWhyCommand(
  args: readonly string[],
  io: Pick<CommandIo, "stdout" | "stderr">,
  run: RunKubectl,
): Promise<number> {
  if (args.length === 0 || args.includes("--help") || args.includes("-h")) {
    io.stdout(USAGE);
    return OK;
  }
  let asked: Asked;
  try {
    asked = parseQuestion(args);
  } catch (error) {
    io.stderr(`error: ${errorText(error)}\n\n${USAGE}`);
    return USAGE_ERROR;
  }
  try {
    io.stdout(await (asked.kind === "pod" ? whyPod(asked, run) : whyNode(asked, run)));
    return OK;
  } catch (error) {
    io.stderr(`${safe(errorText(error)).trimEnd()}\n`);
    return FAILED;
  }
}

function parseQuestion(args: readonly string[]): Asked {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      namespace: { type: "string", short: "n" },
      output: { type: "string", short: "o", default: "text" },
      ...KUBECTL_FLAGS,
    },
  });
  const [kind = "", name = "", ...more] = positionals.flatMap((each) => each.split("/"));
  if ((kind !== "pod" && kind !== "node") || name === "" || more.length > 0) {
    throw new Error("expected `pod NAME` or `node NAME`");
  }
  if (!isOutputFormat(values.output)) throw new Error(outputFault(values.output));
  const flags = Object.entries(values).flatMap(([name, value]) =>
    name in KUBECTL_FLAGS ? [value].flat().map((each) => `--${name}=${each}`) : [],
  );
  return {
    kind,
    name,
    namespace: values.namespace === undefined ? [] : ["--namespace", values.namespace],
    output: values.output,
    flags,
  };
}

async function whyPod(asked: Asked, run: RunKubectl): Promise<string> {
  const { name, namespace, flags, output } = asked;
  const pod = (await json(run, ["get", "pod", name, ...namespace, "--output=json", ...flags])) as Pod;
  const { nodeName = "" } = pod.spec ?? {};
  const { uid: ofObject = "", namespace: of = "", annotations = {} } = pod.metadata ?? {};
  // The node knows a static pod by the UID of its manifest, which its mirror pod carries in this annotation.
  const uid = annotations[CONFIG_MIRROR] ?? ofObject;
  const found: Explained =
    nodeName === ""
      ? { kind: "missing", why: "The pod is not assigned to a node yet." }
      : await explained(asked, nodeName, `pod/${of}/${name}`, `&uid=${encodeURIComponent(uid)}`, run);
  if (found.kind === "found") return found.text;
  const { why } = found;
  const events = await eventsOf(uid, of, flags, run);
  return output === "json" ? jsonText({ why, pod, events }) : podFallback(why, pod, events);
}

async function whyNode(asked: Asked, run: RunKubectl): Promise<string> {
  const found = await explained(asked, asked.name, "node", "", run);
  if (found.kind === "found") return found.text;
  const node = (await json(run, ["get", "node", asked.name, "--output=json", ...asked.flags])) as Node;
  return asked.output === "json" ? jsonText({ why: found.why, node }) : nodeFallback(found.why, node);
}

type Explained = { readonly kind: "found"; readonly text: string } | { readonly kind: "missing"; readonly why: string };

/** Rejects if the request was refused. */
async function explained(
  { output, flags }: Asked,
  node: string,
  path: string,
  query: string,
  run: RunKubectl,
): Promise<Explained> {
  const url = `/api/v1/nodes/${encodeURIComponent(node)}/proxy/explain/${path}?output=${output}${query}`;
  const { code, stdout, stderr } = await run(["get", "--raw", url, ...flags]);
  if (code === 0) return { kind: "found", text: safe(stdout) };
  // The API server refuses the user in these words; the node may refuse the API server in others.
  if (/User ".*" cannot |\(Unauthorized\)|must be logged in/.test(stderr)) throw new Error(stderr);
  return { kind: "missing", why: `Node ${node} did not explain it: ${safe(stderr).trim().replaceAll("\n", " ")}.` };
}

async function eventsOf(
  uid: string,
  namespace: string,
  flags: readonly string[],
  run: RunKubectl,
): Promise<readonly Event[] | string> {
  const selector = `--field-selector=involvedObject.uid=${uid}`;
  const sorted = "--sort-by=.lastTimestamp";
  try {
    const list = await json(run, [
      "get",
      "events",
      "--namespace",
      namespace,
      selector,
      sorted,
      "--output=json",
      ...flags,
    ]);
    return (list as { readonly items?: readonly Event[] }).items ?? [];
  } catch (error) {
    return errorText(error).trim();
  }
}

async function json(run: RunKubectl, args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await run(args);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Every line printable: the text comes from containers, nodes and servers. */
const safe = (text: string): string => text.split("\n").map(printable).join("\n");
