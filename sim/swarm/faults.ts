/** The faults of one run: which kinds a seed draws, when they occur, and the end of them all. */

import { decodeSegment } from "../../src/controllers/journal/segment-text.ts";
import type { FaultLog } from "../fault-log.ts";
import type { Fault, PortCall } from "../port-calls.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { SimNode } from "../sim-node.ts";
import { directoryAt } from "../workload/disk-view.ts";
import { CALL_FAULTS, type CallFault, drawCallFault, PRESSURE_CALL_FAULTS } from "./call-faults.ts";
import { type Coverage, killedWhile, lostReply, phaseOf } from "./coverage.ts";
import { Draw } from "./draw.ts";
import { TIMED_FAULTS, type TimedFault, type TimedFaultParts } from "./timed-faults.ts";

export interface FaultSet {
  /** Weight of each kind. */
  readonly calls: ReadonlyMap<CallFault, number>;
  /** Mean interval of each kind, in milliseconds. */
  readonly timed: ReadonlyMap<TimedFault, number>;
  /** Whether the journal is found damaged at some starts. */
  readonly damagesJournal: boolean;
  /** Whether the agent is killed soon after it has chosen a pod to evict. */
  readonly killsEvictions: boolean;
}

const NO_FAULTS: FaultSet = { calls: new Map(), timed: new Map(), damagesJournal: false, killsEvictions: false };
const WITHOUT_FAULTS = 0.3;
const EACH_KIND = 0.35;

export function drawFaults(random: SeededRandom): FaultSet {
  const draw = new Draw(random);
  if (draw.chance(WITHOUT_FAULTS)) return NO_FAULTS;
  const timed = Object.keys(TIMED_FAULTS) as TimedFault[];
  const pressure = new Draw(random.split("pressure"));
  const weighted = (own: Draw, kinds: readonly CallFault[]) =>
    own.someOf(kinds, EACH_KIND).map((kind) => [kind, own.whole(1, 10) / 5] as const);
  return {
    calls: new Map([...weighted(draw, CALL_FAULTS), ...weighted(pressure, PRESSURE_CALL_FAULTS)]),
    timed: new Map(draw.someOf(timed, EACH_KIND).map((kind) => [kind, draw.whole(30, 300) * 1_000])),
    damagesJournal: draw.chance(EACH_KIND),
    killsEvictions: pressure.chance(EACH_KIND),
  };
}

export const describeFaults = ({ calls, timed, damagesJournal, killsEvictions }: FaultSet): string =>
  [
    ...calls.keys(),
    ...timed.keys(),
    ...(damagesJournal ? ["damagedJournal"] : []),
    ...(killsEvictions ? ["killedEvictions"] : []),
  ].join(" ") || "none";

export class Faults {
  readonly #set: FaultSet;
  readonly #coverage: Coverage;
  readonly #draw: Draw;
  readonly #ends = new Map<TimedFault, () => void>();
  #isOn = true;

  constructor(set: FaultSet, random: SeededRandom, coverage: Coverage) {
    this.#set = set;
    this.#coverage = coverage;
    this.#draw = new Draw(random);
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** The fault of this call, if it gets one. */
  plan(call: PortCall): Fault | undefined {
    if (!this.#isOn) return undefined;
    for (const [kind, weight] of this.#set.calls) {
      const fault = drawCallFault(kind, weight, call, this.#draw);
      if (fault === undefined) continue;
      this.#note(call, fault);
      return fault;
    }
    return undefined;
  }

  begin(parts: TimedFaultParts): void {
    for (const [kind, everyMs] of this.#set.timed) this.#schedule(kind, everyMs, parts);
  }

  /** A pod was chosen to be evicted. */
  chosen({ world, supervisor, coverage }: TimedFaultParts): void {
    if (!this.#isOn || !this.#set.killsEvictions || !this.#draw.chance(0.5)) return;
    world.clock.after(this.#draw.whole(0, 1_500), () => {
      if (!this.#isOn) return;
      coverage.note("the agent was killed during an eviction");
      supervisor.kill();
    });
  }

  /** Ends all faults for good. */
  heal(): void {
    this.#isOn = false;
    for (const end of this.#ends.values()) end();
    this.#ends.clear();
  }

  /** Before an agent starts: damages its journal as a broken disk or an operator's mistake would. */
  beforeStart(node: SimNode, mayLoseFacts: boolean, log: FaultLog): void {
    if (!this.#isOn || !this.#set.damagesJournal || !this.#draw.chance(0.4)) return;
    const segments = [...(directoryAt(node.files.disk, "/var/lib/kubelet/deckhand/journal")?.entries.values() ?? [])];
    const last = segments.findLast((entry) => entry.kind === "file");
    if (last?.kind !== "file" || last.content.length < 100) return;
    this.#coverage.note("the agent started on a damaged journal");
    const damaged = Buffer.from(last.content);
    if (mayLoseFacts) damaged[this.#draw.whole(0, damaged.length - 1)] = 0xff;
    log.journalLost(lostUids(last.content, damaged));
    last.content = Buffer.concat([damaged, Buffer.from('123 deadbeef {"half a line')]);
    last.onDisk = last.content;
  }

  #schedule(kind: TimedFault, everyMs: number, parts: TimedFaultParts): void {
    parts.world.clock.after(1_000 + this.#draw.waitMs(everyMs), () => {
      if (!this.#isOn) return;
      const end = this.#ends.has(kind) ? undefined : TIMED_FAULTS[kind](parts);
      if (end !== undefined) {
        const finish = () => {
          if (this.#ends.get(kind) !== finish) return;
          this.#ends.delete(kind);
          end();
        };
        this.#ends.set(kind, finish);
        parts.world.clock.after(this.#draw.whole(1, 90) * 1_000, finish);
      }
      this.#schedule(kind, everyMs, parts);
    });
  }

  #note(call: PortCall, fault: Fault): void {
    const phase = phaseOf(call);
    if (fault.kind === "crash" && phase !== undefined) this.#coverage.note(killedWhile(phase));
    if (fault.kind === "crash" && phase === "pulling") this.#coverage.note("a pull was cut short");
    if (fault.kind === "fail" && fault.effect === "done" && call.port === "mounts")
      this.#coverage.note(lostReply(call.name));
    if (fault.kind === "fail" && call.port === "prober") this.#coverage.note("a probe could not be sent");
    if (fault.kind === "fail" && phase === "pulling") this.#coverage.note("a pull failed");
  }
}

/** UIDs of the records that can no longer be read. */
function lostUids(before: Uint8Array, after: Uint8Array): ReadonlySet<string> {
  const texts = (content: Uint8Array) => decodeSegment(content).lines.map(({ value }) => JSON.stringify(value));
  const left = new Set(texts(after));
  return new Set(
    texts(before)
      .filter((text) => !left.has(text))
      .flatMap((text) => UID.exec(text)?.groups?.["uid"] ?? []),
  );
}

const UID = /"uid":"(?<uid>[^"]*)"/;
