/**
 * Sets the sysctls that a node needs before anything else starts; with `protect` they are only checked. Rejects when a
 * sysctl keeps another value, so that the kubelet does not start.
 */
import { errorText } from "../../base/error-text.ts";
import { KERNEL_TUNABLES, planTunables, tunablesFault } from "../../domain/host/kernel-tunables.ts";
import type { Log } from "../../ports/log.ts";
import type { Sysctls } from "../../ports/sysctls.ts";

export interface SysctlsParts {
  readonly sysctls: Pick<Sysctls, "read" | "write">;
  readonly log: Log;
  /** The operator owns the sysctls; do not write them. */
  readonly protect: boolean;
  /** The kubelet may lack the permission to write sysctls; failed writes are then ignored. */
  readonly inUserNamespace: boolean;
}

export async function applySysctls(parts: SysctlsParts): Promise<void> {
  const { sysctls, log, protect, inUserNamespace } = parts;
  const values = new Map<string, string | undefined>();
  for (const { name } of KERNEL_TUNABLES) values.set(name, await sysctls.read(name));
  const { faults, writes } = planTunables(values, protect);
  const all = [...faults];
  for (const { name, wanted } of writes) {
    log.info(2, "Updating kernel flag", { flag: name, expectedValue: wanted, actualValue: values.get(name) });
    try {
      await sysctls.write(name, wanted);
    } catch (error) {
      if (!inUserNamespace) all.push(errorText(error));
      else log.info(2, "Updating kernel flag failed (running in UserNS, ignoring)", { err: errorText(error) });
    }
  }
  if (all.length > 0) throw new Error(`Failed to start ContainerManager: ${tunablesFault(all)}`);
}
