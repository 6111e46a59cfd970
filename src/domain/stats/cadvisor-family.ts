/** A metric family of /metrics/cadvisor: values of each cgroup, each with labels in addition to those of the cgroup. */
import type { Labels } from "../../base/metrics/family.ts";
import type { CgroupStats, MountStats } from "./stats-reading.ts";

/** Called with each value and with the labels that it has in addition to those of every cgroup. */
export type Tell = (value: number, more?: Labels) => void;

export type TellsGroup = (group: CgroupStats, tell: Tell, machine: readonly MountStats[]) => void;

export interface GroupFamily {
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  /** Limits change rarely: their samples have no timestamp. */
  readonly timeless?: true;
  /** The timestamp of the samples; if omitted, the time when the cgroup was read. */
  readonly atWallMs?: number;
  readonly tells: TellsGroup;
}

const family =
  (kind: GroupFamily["kind"], timeless: boolean) =>
  (name: string, help: string, tells: TellsGroup): GroupFamily => ({
    name,
    help,
    kind,
    ...(timeless ? { timeless } : {}),
    tells,
  });
export const counter = family("counter", false);
export const gauge = family("gauge", false);
export const bound = family("gauge", true);
