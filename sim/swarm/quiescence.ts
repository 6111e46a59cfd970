/**
 * After everything has settled, an agent inspects now and then and changes nothing. Changes that it makes nevertheless
 * are counted here.
 */
import type { PortCall } from "../port-calls.ts";

const CHANGES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    "files",
    new Set([
      "writeNew",
      "rename",
      "link",
      "setOwner",
      "setMode",
      "makeFile",
      "makeDirectory",
      "removeFile",
      "removeDirectory",
      "removeTree",
      "writeAtomically",
      "overwrite",
    ]),
  ],
  ["cgroups", new Set(["destroy"])],
  [
    "runtime",
    new Set([
      "RunPodSandbox",
      "StopPodSandbox",
      "RemovePodSandbox",
      "CreateContainer",
      "StartContainer",
      "StopContainer",
      "UpdateContainerResources",
      "UpdatePodSandboxResources",
      "RemoveContainer",
      "PullImage",
    ]),
  ],
  ["api", new Set(["DELETE"])],
]);

const OF_A_POD = /(^|\/)pod[0-9a-f-]{36}(\/|$)/;

function isChange({ port, name, target }: PortCall): boolean {
  if (port === "mounts") return name !== "table";
  // Cgroups of the node are reapplied every minute, whatever happens; those of pods are not.
  if (port === "cgroups" && name === "apply") return OF_A_POD.test(target);
  if (port === "api" && target.startsWith("serviceaccounts/token")) return true;
  if (port === "api" && name === "PATCH" && target.startsWith("pods/status")) return true;
  return CHANGES.get(port)?.has(name) === true;
}

export class Quiescence {
  readonly #changes = new Map<string, number>();
  #hasBegun = false;
  #count = 0;

  begin(): void {
    this.#hasBegun = true;
  }

  observe(call: PortCall): void {
    if (!this.#hasBegun || !isChange(call)) return;
    this.#count += 1;
    const what = `${call.port}.${call.name}`;
    this.#changes.set(what, (this.#changes.get(what) ?? 0) + 1);
  }

  /** Reports more than `allowed` changes: nothing calls for that many. */
  wrong(allowed: number): readonly string[] {
    if (this.#count <= allowed) return [];
    const changes = [...this.#changes].map(([what, count]) => `${what} ${count} times`).join(", ");
    return [`the agent does not become quiescent: ${changes}, where ${allowed} changes in all are expected`];
  }
}
