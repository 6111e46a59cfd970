/** Polls the largest size of a log, and of the log and its rotated parts together. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pause } from "../../cluster/wait.ts";

export function watchSizes(path: string) {
  let [largest, most] = [0, 0];
  const over = new AbortController();
  const parts = new Set<string>();
  const watching = (async () => {
    while (!over.signal.aborted) {
      let sum = 0;
      for (const name of await readdir(path)) {
        const size = (await stat(join(path, name)).catch(() => undefined))?.size ?? 0;
        sum += size;
        if (!name.endsWith(".gz") && !name.endsWith(".tmp")) largest = Math.max(largest, size);
        const part = /^0\.log\.\d{8}-\d{6}/.exec(name)?.[0];
        if (part !== undefined) parts.add(part);
      }
      most = Math.max(most, sum);
      await pause(20);
    }
  })();
  return {
    end: async () => {
      over.abort();
      await watching;
      return { largest, most, parts };
    },
  };
}
