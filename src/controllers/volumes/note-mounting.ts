import type { Pod } from "../../api/gen/core-v1.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Journal } from "../../ports/journal.ts";

/** Call before mounting: the next kubelet process recognizes the mount as ours by this record. */
export async function noteMounting(
  pod: Pod,
  { volume, path }: { readonly volume: string; readonly path: string },
  { journal, clock }: { readonly journal: Journal; readonly clock: Clock },
): Promise<void> {
  const { uid, namespace, name } = podNameOfObject(pod);
  await journal.append({
    kind: "mounting",
    uid,
    pod: `${namespace}/${name}`,
    wallMs: clock.wallMs(),
    volume,
    path,
  });
}
