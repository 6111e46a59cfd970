/** What the journal on disk says about each pod: which UIDs were admitted, which must no longer start, and since when. */
import type { JournalRecord } from "../src/domain/journal/records.ts";

export interface Termination {
  /** Time of the first record. */
  readonly sinceMs: number;
  /** The life of the agent in which the first record was written. */
  readonly life: number;
  /** When the grace period ends, by the record with the shortest grace. */
  readonly endsMs: number;
  /** As the first record says. */
  readonly why: string;
}

const EVICTED = "failed Evicted: ";
/** A pod that the node rejects because of its pressure has the same reason. */
const REJECTED = `${EVICTED}Pod was rejected: `;

export const isEviction = (termination: Termination | undefined): termination is Termination =>
  termination?.why.startsWith(EVICTED) === true && !termination.why.startsWith(REJECTED);

/** The status message of an evicted pod. */
export const evictionMessage = ({ why }: Termination): string => why.slice(EVICTED.length);

export interface PodRecords {
  readonly isAdmitted: boolean;
  /** It was admitted, rejected or deferred. */
  readonly isDecided: boolean;
  readonly termination: Termination | undefined;
  /** When the terminal phase was written. */
  readonly terminalMs: number | undefined;
  readonly isFinished: boolean;
  /** The pod was admitted again while it terminated; it starts over once it is finished. */
  readonly isReturning: boolean;
}

const UNKNOWN: PodRecords = {
  isAdmitted: false,
  isDecided: false,
  termination: undefined,
  terminalMs: undefined,
  isFinished: false,
  isReturning: false,
};

export class JournaledPods {
  readonly #pods = new Map<string, PodRecords>();
  /** UIDs of static pods, by the hash of their manifest. */
  readonly #staticUids = new Map<string, string>();
  /** How often each UID was finished. */
  readonly #endings = new Map<string, number>();
  /** Ids of the containers whose preStop hook ran to its end. */
  readonly preStopDone = new Set<string>();
  /** IDs of the containers whose exit was journaled. */
  readonly exited = new Set<string>();

  of(uid: string): PodRecords {
    return this.#pods.get(uid) ?? UNKNOWN;
  }

  isStatic(uid: string): boolean {
    return [...this.#staticUids.values()].includes(uid);
  }

  /** How often the static pod with this manifest ended. After each end its mirror pod may start over. */
  endingsOf(manifestHash: string): number {
    return this.#endings.get(this.#staticUids.get(manifestHash) ?? "") ?? 0;
  }

  /** Reads one record that was not on the disk before. */
  read(record: JournalRecord, nowMs: number, life: number): void {
    const before = this.of(record.uid);
    switch (record.kind) {
      case "admitted":
        // A static pod whose manifest was removed and written again keeps its UID.
        this.#pods.set(record.uid, {
          ...(before.isFinished ? UNKNOWN : before),
          isAdmitted: true,
          isDecided: true,
          isReturning: before.termination !== undefined && !before.isFinished,
        });
        break;
      case "rejected":
      case "decision":
        this.#pods.set(record.uid, { ...before, isDecided: true });
        break;
      case "terminating": {
        const first = before.termination ?? { sinceMs: nowMs, life, endsMs: Number.POSITIVE_INFINITY, why: record.why };
        const termination = { ...first, endsMs: Math.min(first.endsMs, nowMs + record.graceSeconds * 1_000) };
        this.#pods.set(record.uid, { ...before, termination });
        break;
      }
      case "terminal":
        this.#pods.set(record.uid, { ...before, terminalMs: before.terminalMs ?? nowMs });
        break;
      case "staticPod":
        this.#staticUids.set(record.configHash, record.uid);
        break;
      case "finished":
        this.#endings.set(record.uid, (this.#endings.get(record.uid) ?? 0) + 1);
        this.#pods.set(
          record.uid,
          before.isReturning ? { ...UNKNOWN, isAdmitted: true, isDecided: true } : { ...before, isFinished: true },
        );
        break;
      case "exited":
        this.exited.add(record.containerId);
        break;
      case "hook":
        if (record.hook === "preStopDone") this.preStopDone.add(record.containerId);
        break;
      default:
    }
  }
}
