/**
 * Records the faults that really happened on a node: what the oracle must not hold against its agent.
 *
 * Each fault has a kind and a time, and concerns one pod, one container, or everything on the node. It excuses a
 * violation only of a rule that it can break, and only within the window in which the judged facts arose. The rule
 * names that window: for a back-off, since the previous start of the container; for a grace period, since its
 * termination began; for a preStop hook, since the start of its container. So every excuse ends by itself, and a pod
 * that is created after a fault is never excused by it. For each key only the latest time matters.
 *
 * | kind | what happened | concerns |
 * | --- | --- | --- |
 * | memory | a call on the journal failed, or the journal lost records at the start of an agent | the pods whose records were lost, else all |
 * | memory | the wall clock jumped, or the machine restarted | all |
 * | runtime | a CRI call failed or hung | the pod of its container or sandbox; all if the call names none |
 * | runtime | the runtime was dead, hung, or slow | all |
 * | commands | an ExecSync failed or hung | its container |
 * | commands | the runtime was dead or hung | all |
 * | stats | a measurement of the machine, or a reading of its statistics, failed or hung | all |
 * | prober | a probe request, or a hook's HTTP request, failed on this node | the pod with that address |
 */
import type { RuntimeDurations } from "./fake-runtime/node-state.ts";
import type { CallListener, CallResult, Fault, PortCall } from "./port-calls.ts";
import type { SimNode } from "./sim-node.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export type FaultKind = "memory" | "runtime" | "commands" | "prober" | "stats";

const ALL = "";
const FILE_READS: ReadonlySet<string> = new Set(["facts", "list", "read", "readHead", "readTail", "readLink"]);
const MEASURING: ReadonlySet<string> = new Set(["machine", "stats", "cgroups"]);
const JOURNAL = "/var/lib/kubelet/deckhand/journal";
/** A runtime that takes longer than this for one step is slow. */
const SLOW_MS = 1_000;

export class FaultLog implements CallListener {
  readonly #node: SimNode;
  readonly #clock: VirtualClock;
  /** The latest time of each fault, by kind and key. */
  readonly #latestMs = new Map<string, number>();
  #skewMs: number;
  #boots: number;

  constructor(node: SimNode, clock: VirtualClock) {
    this.#node = node;
    this.#clock = clock;
    this.#skewMs = clock.wallMs() - clock.trueWallMs();
    this.#boots = node.boots;
  }

  /** Whether a fault of this kind concerned one of these pods or containers at `sinceMs` or later. */
  concerned(kind: FaultKind, sinceMs: number, ...keys: readonly string[]): boolean {
    return [ALL, ...keys].some((key) => (this.#latestMs.get(`${kind} ${key}`) ?? Number.NEGATIVE_INFINITY) >= sinceMs);
  }

  /** Records, after every event, what is wrong with the machine and its runtime. */
  check(): void {
    const skewMs = this.#clock.wallMs() - this.#clock.trueWallMs();
    const { boots, runtime } = this.#node;
    if (skewMs !== this.#skewMs || boots !== this.#boots) this.#note("memory");
    if (boots !== this.#boots) this.#noteRuntime();
    this.#skewMs = skewMs;
    this.#boots = boots;
    if (!runtime.answers) this.#noteRuntime();
    else if (isSlow(runtime.knobs.durations)) this.#note("runtime");
  }

  /** The journal lost records of these pods. */
  journalLost(uids: Iterable<string>): void {
    for (const uid of uids) this.#note("memory", uid);
  }

  made(call: PortCall, fault: Fault | undefined): void {
    if (call.who === this.#node.name && fault !== undefined && fault.kind !== "crash") this.#noteCall(call);
  }

  settled(call: PortCall, result: CallResult): void {
    // A disk that is full or read-only fails calls that no plan fails. A read that finds nothing is not a failure.
    const hasFailed = call.who === this.#node.name && result === "failed" && isOfJournal(call);
    if (hasFailed && !FILE_READS.has(call.name)) this.#note("memory");
  }

  #noteCall(call: PortCall): void {
    if (call.port === "runtime") {
      const [id = ""] = call.target.split(" ", 1);
      this.#note("runtime", call.podUid ?? this.#podOf(id));
      if (call.name === "ExecSync") this.#note("commands", id);
    } else if (call.port === "prober") {
      this.#note("prober", this.#podAt(call.target));
    } else if (isOfJournal(call)) {
      this.#note("memory");
    } else if (MEASURING.has(call.port)) {
      this.#note("stats");
    }
  }

  /** The UID of the pod that owns a container or sandbox. */
  #podOf(id: string): string | undefined {
    const { containers, sandboxes } = this.#node.runtime;
    return containers.get(id)?.config.labels?.["io.kubernetes.pod.uid"] ?? sandboxes.get(id)?.config.metadata.uid;
  }

  #podAt(ip: string): string | undefined {
    return [...this.#node.runtime.sandboxes.values()].find(({ ips }) => ips.includes(ip))?.config.metadata.uid;
  }

  #noteRuntime(): void {
    this.#note("runtime");
    this.#note("commands");
  }

  #note(kind: FaultKind, key = ALL): void {
    this.#latestMs.set(`${kind} ${key}`, this.#clock.monotonicMs());
  }
}

const isOfJournal = ({ port, target }: PortCall): boolean => port === "files" && target.startsWith(JOURNAL);

const isSlow = (durations: RuntimeDurations): boolean => Object.values(durations).some((ms) => ms > SLOW_MS);
