/**
 * Three pod lifecycles as they happen in the simulator with the production code: who calls whom, and when. `npm run
 * sequences` prints them as Markdown; docs/from-the-go-kubelet.md holds the output.
 */

import type { Pod } from "../src/api/gen/core-v1.ts";
import { compose } from "../src/app/compose.ts";
import type { Cells } from "../src/app/wiring.ts";
import { containerNameOf, type PodRuntimeView } from "../src/domain/pod/runtime-view.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubeletOptions } from "./kubelet.ts";
import { type ObservedCall, spyOnPorts } from "./port-spy.ts";
import { play, type Scenario } from "./scenarios/scenario.ts";
import type { AgentFactory } from "./sim-node.ts";

interface Row {
  readonly atMs: number;
  readonly who: string;
  readonly whom: string;
  readonly what: string;
}

interface Sequence {
  readonly title: string;
  readonly scenario: Omit<Scenario, "name">;
  readonly fromMs: number;
  /** The row before the first recorded one: what the world did. */
  readonly first: Omit<Row, "atMs">;
}

const BEGIN_MS = 20_000;
/** Long enough for the last row, and shorter than the time to the next orphan sweep. */
const LASTS_MS = 2_500;

export function podOf(behaviour: Behaviour): Pod {
  const command = [...scripted({ onSignal: { SIGTERM: { afterMs: 300, code: 0 } }, ...behaviour })];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default" },
    spec: {
      nodeName: "n1",
      automountServiceAccountToken: false,
      containers: [{ name: "app", image: "busybox", imagePullPolicy: "IfNotPresent", command }],
    },
  };
}

const rightIf = (isRight: boolean, otherwise: string) => (isRight ? [] : [otherwise]);

const sequences: readonly Sequence[] = [
  {
    title: "A pod is created",
    scenario: {
      steps: [[BEGIN_MS, ({ create }) => void create(podOf({}))]],
      lastsMs: BEGIN_MS + LASTS_MS,
      wrong: ({ pod }) => rightIf(pod("web")?.status?.phase === "Running", "it does not run"),
    },
    fromMs: BEGIN_MS,
    first: { who: "user", whom: "API server", what: "create pod default/web, bound to n1" },
  },
  {
    title: "A pod ends gracefully",
    scenario: {
      steps: [
        [BEGIN_MS - 10_000, ({ create }) => void create(podOf({}))],
        [BEGIN_MS, ({ remove }) => remove("web")],
      ],
      lastsMs: BEGIN_MS + LASTS_MS,
      wrong: ({ pod }) => rightIf(pod("web") === undefined, "it is still there"),
    },
    fromMs: BEGIN_MS,
    first: {
      who: "user",
      whom: "API server",
      what: "delete pod default/web, 30 s of grace; its process needs 300 ms after SIGTERM",
    },
  },
  {
    title: "A container dies and is started again",
    scenario: {
      steps: [[BEGIN_MS - 10_000, ({ create }) => void create(podOf({ exit: { afterMs: 10_000, code: 1 } }))]],
      lastsMs: BEGIN_MS + LASTS_MS,
      wrong: ({ pod }) =>
        rightIf(pod("web")?.status?.containerStatuses?.[0]?.restartCount === 1, "it was not started again once"),
    },
    fromMs: BEGIN_MS,
    first: { who: "the container", whom: "runtime", what: "exits with 1" },
  },
];

export async function sequencesAsMarkdown(): Promise<string> {
  const parts = [];
  for (const sequence of sequences) parts.push(await asMarkdown(sequence));
  return parts.join("\n");
}

async function asMarkdown({ title, scenario, fromMs, first }: Sequence): Promise<string> {
  const rows: Row[] = [];
  const { violations, wrong } = await play({ name: title, ...scenario }, { agent: recording(rows) });
  if (violations.length + wrong.length > 0) throw new Error(`${title}: ${[...violations, ...wrong].join("; ")}`);
  const shown = merged(rows.filter(({ atMs }) => atMs >= fromMs));
  // A container's exit is observed when its event arrives; the table's clock starts there.
  const zeroMs = first.who === "user" ? fromMs : (shown[0]?.atMs ?? fromMs);
  const lines = [{ atMs: zeroMs, ...first }, ...shown].map(
    ({ atMs, who, whom, what }) => `| ${atMs - zeroMs} | ${who} | ${whom} | ${what} |`,
  );
  return [`### ${title}`, "", "| ms | who | whom | what |", "| ---: | --- | --- | --- |", ...lines, ""].join("\n");
}

/** The kubelet, with its calls and the new values of its cells recorded. */
function recording(rows: Row[]): AgentFactory {
  return (ports, node) => {
    const note = (row: Omit<Row, "atMs"> | undefined) => {
      if (row !== undefined) rows.push({ atMs: ports.clock.monotonicMs(), ...row });
    };
    const spy = {
      called: (call: ObservedCall) => note(rowOfCall(call)),
      answered: () => {},
      streamed: (call: ObservedCall, value: unknown) => note(rowOfValue(call, value)),
    };
    const kubelet = compose(spyOnPorts(ports, spy), kubeletOptions(node.name));
    noteCells(kubelet.cells, note);
    return kubelet;
  };
}

function noteCells(cells: Cells, note: (row: Omit<Row, "atMs">) => void): void {
  const last = new Map<string, string>();
  const cell = (who: string, name: string, what: string) => {
    if (last.get(name) === what) return;
    last.set(name, what);
    note({ who, whom: `cell \`${name}\``, what });
  };
  const { admittedPods, podRuntimeStatus, podOutcomes } = cells;
  admittedPods.watch((uid) => {
    const admitted = admittedPods.get(uid);
    const isDeleted = admitted?.pod.metadata?.deletionTimestamp !== undefined;
    cell("sync-loop", "admittedPods", `${admitted?.verdict.kind ?? "gone"}${isDeleted ? ", to be deleted" : ""}`);
  });
  podRuntimeStatus.watch((uid) => cell("pleg", "podRuntimeStatus", describeView(podRuntimeStatus.get(uid))));
  podOutcomes.watch((uid) => {
    const outcome = podOutcomes.get(uid);
    const what = outcome === undefined ? "gone" : `${outcome.lifecycle.kind}; ${describeView(outcome.view)}`;
    cell("pod-workers", "podOutcomes", what);
  });
}

function describeView(view: PodRuntimeView | undefined): string {
  if (view === undefined) return "gone";
  const containers = view.containers.map((container) => `${containerNameOf(container)} ${container.state}`);
  const sandboxes = view.sandboxes.map(({ state }) => `sandbox ${state}`);
  return [...sandboxes, ...containers].join(", ") || "nothing runs";
}

/** Directories of controllers that concern the node, not the pod. */
const NODE_DIRECTORIES = ["node", "images", "stats", "resources", "cluster-objects"];
const READS = ["list", "facts", "readHead", "exists", "children", "pathOf"];
/** The remaining calls of a pod inspection, and the calls that check whether the runtime is alive. */
const PARTS_OF_A_LOOK = ["listContainers", "sandboxStatus", "containerStatus", "status", "version", "events"];
const PARTIES: Readonly<Record<string, string>> = { api: "API server", images: "runtime" };

function rowOfCall({ port, method, args, caller }: ObservedCall): Omit<Row, "atMs"> | undefined {
  const [directory = ""] = caller.split("/");
  const isLeftOut =
    NODE_DIRECTORIES.includes(directory) ||
    (port === "runtime" && PARTS_OF_A_LOOK.includes(method)) ||
    (port !== "api" && READS.includes(method)) ||
    (port === "api" && method === "watch") ||
    caller === "housekeeping/orphan-cleanup" ||
    caller === "pleg/pleg";
  if (isLeftOut) return undefined;
  return { who: caller, whom: PARTIES[port] ?? port, what: describeCall(port, method, args) };
}

function describeCall(port: string, method: string, args: readonly unknown[]): string {
  if (method === "listSandboxes") return "a look: list and inspect this pod";
  if (port !== "api") return method;
  const [resource, target, patch] = args as readonly [{ readonly plural: string }, Target, Patch | undefined];
  if (method === "create") return `create ${resource.plural} (${target.reason ?? ""})`;
  const status = patch?.body?.status;
  return status === undefined
    ? `${method} ${resource.plural}`
    : `patch ${resource.plural}/status: ${changesIn(status)}`;
}

interface Target {
  readonly reason?: string;
}

interface Patch {
  readonly body?: { readonly status?: Pod["status"] };
}

/** The phase, and the containers' states and readiness; if none of these change, the conditions that do. */
function changesIn({ phase, containerStatuses = [], conditions = [] }: NonNullable<Pod["status"]>): string {
  const states = containerStatuses.flatMap(({ name, state }) =>
    Object.entries(state ?? {}).flatMap(([kind, value]) => (value === null ? [] : `${name} ${kind}`)),
  );
  const turned = conditions.flatMap(({ type, status }) => (status === undefined ? [] : `${type}=${status}`));
  const seen = [phase ?? [], states, turned.filter((text) => text.startsWith("Ready="))].flat();
  if (seen.length > 0) return seen.join(", ");
  return turned.length > 0 ? turned.join(", ") : "observedGeneration";
}

function rowOfValue({ port, caller }: ObservedCall, value: unknown): Omit<Row, "atMs"> | undefined {
  const event = value as { readonly kind: string; readonly object?: Pod };
  // The hints of a watched directory carry no step of the pod.
  if (port === "files" || caller.startsWith("cluster-objects/") || event.kind === "bookmark") return undefined;
  const what = port === "api" ? `pod ${event.kind}${describeVersion(event.object)}` : `event: ${event.kind}`;
  return { who: PARTIES[port] ?? port, whom: caller, what };
}

function describeVersion(pod: Pod | undefined): string {
  const isDeleted = pod?.metadata?.deletionTimestamp !== undefined;
  return ` (${pod?.status?.phase ?? "no phase"}${isDeleted ? ", being deleted" : ""})`;
}

/** Merges equal consecutive rows into one row with a count. */
function merged(rows: readonly Row[]): readonly Row[] {
  const kept: (Row & { readonly count: number })[] = [];
  for (const row of rows) {
    const last = kept.at(-1);
    if (last !== undefined && last.who === row.who && last.whom === row.whom && last.what === row.what) {
      kept[kept.length - 1] = { ...last, count: last.count + 1 };
    } else kept.push({ ...row, count: 1 });
  }
  return kept.map(({ count, what, ...row }) => ({ ...row, what: count === 1 ? what : `${what} ×${count}` }));
}
