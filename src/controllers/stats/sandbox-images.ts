/** The image of each sandbox. Queried once per sandbox, from runtimes that report it in the verbose status. */
import { errorText } from "../../base/error-text.ts";
import type { Log } from "../../ports/log.ts";
import type { RuntimeSandboxes } from "../../ports/runtime.ts";

export interface SandboxImagesParts {
  readonly runtime: Pick<RuntimeSandboxes, "sandboxStatus">;
  readonly log: Log;
}

const AT_ONCE = 8;

export class SandboxImages {
  readonly #parts: SandboxImagesParts;
  readonly #known = new Map<string, string>();

  constructor(parts: SandboxImagesParts) {
    this.#parts = parts;
  }

  async ask(sandboxes: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const wanted = new Set(sandboxes);
    for (const id of this.#known.keys()) if (!wanted.has(id)) this.#known.delete(id);
    const left = sandboxes.filter((id) => !this.#known.has(id));
    const one = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) await this.#askOne(id, signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    return this.#known;
  }

  async #askOne(id: string, signal: AbortSignal): Promise<void> {
    const { runtime, log } = this.#parts;
    try {
      const { info } = await runtime.sandboxStatus(id, { verbose: true }, signal);
      this.#known.set(id, imageIn(info["info"]));
    } catch (error) {
      signal.throwIfAborted();
      log.info(4, "Failed to get the image of a sandbox", { podSandboxID: id, err: errorText(error) });
    }
  }
}

/** containerd and CRI-O both report the image here. Empty for other runtimes. */
function imageIn(text: string | undefined): string {
  if (text === undefined) return "";
  try {
    const { image } = JSON.parse(text) as { readonly image?: unknown };
    return typeof image === "string" ? image : "";
  } catch {
    return ""; // The runtime uses another text format.
  }
}
