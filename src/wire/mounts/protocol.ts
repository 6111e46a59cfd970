/** The protocol between the agent and its helper processes: one line of JSON per request, and per reply. */
import type { PathKind } from "../../domain/volumes/host-path.ts";
import type {
  BlockFormat,
  CheckOutcome,
  DiskUsage,
  FsGroupChange,
  FsGroupOutcome,
  MountErrorCode,
  SubPathBind,
  VolumeUsage,
} from "../../ports/mounts.ts";
import type { QuotaAssignment } from "../../ports/quotas.ts";

export type HelperRequest =
  | { readonly kind: "share"; readonly path: string }
  | { readonly kind: "mountMemory"; readonly path: string; readonly sizeBytes?: string; readonly noSwap: boolean }
  | { readonly kind: "mountHugepages"; readonly path: string; readonly pageSize?: string }
  | { readonly kind: "bind"; readonly source: string; readonly target: string; readonly options: readonly string[] }
  | ({ readonly kind: "bindSubPath" } & SubPathBind)
  | { readonly kind: "readBeneath"; readonly volume: string; readonly path: string; readonly bytesMax: number }
  | { readonly kind: "unmount"; readonly path: string; readonly lazy: boolean }
  | { readonly kind: "kindOf"; readonly path: string }
  | { readonly kind: "groupOf"; readonly path: string }
  | { readonly kind: "makeDirectory"; readonly path: string; readonly mode: number }
  | { readonly kind: "makeFile"; readonly path: string; readonly mode: number }
  | ({ readonly kind: "applyFsGroup"; readonly path: string } & Omit<FsGroupChange, "onProgress">)
  | { readonly kind: "removeTree"; readonly path: string }
  | { readonly kind: "measure"; readonly path: string; readonly how: "walk" | "filesystem" }
  | { readonly kind: "formatOf"; readonly device: string }
  | { readonly kind: "check"; readonly device: string }
  | { readonly kind: "format"; readonly device: string; readonly type: string }
  | ({ readonly kind: "mountDevice" } & DeviceMount)
  | { readonly kind: "assignProject"; readonly path: string }
  | { readonly kind: "projectUsage"; readonly path: string; readonly project: number }
  | { readonly kind: "releaseProjects"; readonly directory: string };

export interface DeviceMount {
  readonly device: string;
  readonly target: string;
  readonly type: string;
  readonly options: readonly string[];
}

export type RequestKind = HelperRequest["kind"];
export type RequestOf<K extends RequestKind> = Extract<HelperRequest, { readonly kind: K }>;

/** The values of answers. Kinds that are not listed return nothing. */
interface Answers {
  readonly kindOf: PathKind;
  readonly groupOf: number;
  /** In base64. */
  readonly readBeneath: string;
  readonly applyFsGroup: FsGroupOutcome;
  readonly measure: VolumeUsage;
  readonly formatOf: BlockFormat;
  readonly check: CheckOutcome;
  readonly assignProject: QuotaAssignment;
  readonly projectUsage: DiskUsage;
  /** Paths. */
  readonly releaseProjects: readonly string[];
}

export type AnswerOf<K extends RequestKind> = K extends keyof Answers ? Answers[K] : undefined;

export type HelperReply =
  /** The work goes on; this many files are done. */
  | { readonly kind: "progress"; readonly files: number }
  | { readonly kind: "done"; readonly value?: unknown }
  | { readonly kind: "failed"; readonly code: MountErrorCode; readonly detail: string };

export type FinalReply = Exclude<HelperReply, { readonly kind: "progress" }>;
