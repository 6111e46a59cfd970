/** Reads the requested streams of a command from the query. Only "1" means yes. */
import type { StreamOptions } from "../../ports/runtime.ts";
import { HttpError } from "../route.ts";

export function streamOptions(query: URLSearchParams): StreamOptions {
  const yes = (name: string) => query.get(name) === "1";
  const tty = yes("tty");
  const [stdin, stdout] = [yes("input"), yes("output")];
  // A terminal has a single output.
  const stderr = yes("error") && !tty;
  if (!stdin && !stdout && !stderr) throw new HttpError(400, "you must specify at least 1 of stdin, stdout, stderr");
  return { stdin, stdout, stderr, tty };
}
