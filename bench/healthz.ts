/** Waits until an agent's healthz first returns 200. */
import { get } from "node:http";
import { waitUntil } from "../test/cluster/wait.ts";

const HEALTHZ_PORT = 10248;

/** Returns the time on the monotonic clock. */
export async function healthy(address: string): Promise<number> {
  await waitUntil("healthz", 60_000, () => isWell(`http://${address}:${HEALTHZ_PORT}/healthz`), 10);
  return performance.now();
}

const isWell = (url: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const call = get(url, { agent: false, timeout: 1_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.once("timeout", () => call.destroy(new Error("no answer")));
    call.once("error", reject);
  });
