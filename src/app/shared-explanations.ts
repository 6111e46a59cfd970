/**
 * Explanations for the node's API: requests within a few seconds share one reading of the journal, which is released
 * after that. A client that disconnects does not end the reading for the others.
 */
import { raceAbort } from "../concurrency/abort.ts";
import {
  answerNode,
  answerPod,
  type ExplanationPorts,
  type Records,
  readRecords,
} from "../controllers/explain/explanations.ts";
import type { Clock } from "../ports/clock.ts";
import { EXPLANATIONS_SHARED_MS } from "../server/limits.ts";
import type { Explanations } from "../server/routes/explain.ts";

export function sharedExplanations(
  ports: ExplanationPorts & { readonly clock: Pick<Clock, "after"> },
  rootDirectory: string,
): Explanations {
  let reading: Promise<Records> | undefined;
  const begin = () => {
    const begun = readRecords(ports, rootDirectory);
    const release = () => {
      if (reading === begun) reading = undefined;
    };
    begun.then(() => ports.clock.after(EXPLANATIONS_SHARED_MS, release), release);
    return begun;
  };
  const records = (signal: AbortSignal) => raceAbort((reading ??= begin()), signal);
  return {
    pod: async (question, signal) => answerPod(await records(signal), question),
    node: async (signal) => answerNode(await records(signal)),
  };
}
