/**
 * Passes runtime errors on as the Go kubelet does: with the runtime's message, 404 for notFound, 429 for
 * resourceExhausted, else 500.
 */
import { isRuntimeError, rpcText } from "../../ports/runtime-error.ts";
import { HttpError } from "../route.ts";

export function runtimeErrorText(error: unknown): string | undefined {
  return isRuntimeError(error) ? rpcText(error) : undefined;
}

export async function withHttpError<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const message = runtimeErrorText(error);
    if (message === undefined) throw error;
    const status = isRuntimeError(error, "notFound") ? 404 : isRuntimeError(error, "resourceExhausted") ? 429 : 500;
    throw new HttpError(status, message);
  }
}
