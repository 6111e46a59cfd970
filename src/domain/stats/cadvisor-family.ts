/** What a family of /metrics/cadvisor is: of each group some values, each with labels of its own beside the group's. */
import type { Labels } from "../../base/metrics/family.ts";
import type { GroupFigures, MountFigures } from "./figures.ts";

/** Called with each value, and with the labels it has beside those that every group has. */
export type Tell = (value: number, more?: Labels) => void;

export type TellsGroup = (group: GroupFigures, tell: Tell, machine: readonly MountFigures[]) => void;

export interface GroupFamily {
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  /** What the group is bound to changes rarely, and has no moment of its own. */
  readonly timeless?: true;
  /** A moment of its own; left out: when the group was read. */
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
