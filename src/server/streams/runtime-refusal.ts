/** Why the runtime would not, as the Go kubelet passes it on: its own words, with 404 for what it does not know and 429 where it has too much. */
import { isRuntimeError, rpcText } from "../../ports/runtime-error.ts";
import { Refusal } from "../route.ts";

export function runtimeWords(error: unknown): string | undefined {
  return isRuntimeError(error) ? rpcText(error) : undefined;
}

export async function refusedByRuntime<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const words = runtimeWords(error);
    if (words === undefined) throw error;
    const status = isRuntimeError(error, "notFound") ? 404 : isRuntimeError(error, "resourceExhausted") ? 429 : 500;
    throw new Refusal(status, words);
  }
}
