/** A pod that this node was given, and whether it took it. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { Rejection } from "../admission/not-built.ts";

export interface AdmittedPod {
  readonly uid: string;
  readonly pod: Pod;
  readonly isStatic: boolean;
  readonly firstSeenWallMs: number;
  readonly verdict: { readonly kind: "admitted" } | { readonly kind: "rejected"; readonly rejection: Rejection };
}
