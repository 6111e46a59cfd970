/** The adapters that `deckhand doctor` uses. */
import { connectCri } from "../wire/cri/client.ts";
import { hostClock } from "../wire/host/clock.ts";
import { hostKeys } from "../wire/host/keys.ts";
import { createSysctls } from "../wire/host/sysctls.ts";
import { oneShotRequest } from "../wire/kube-api/one-shot-request.ts";
import { createHostInspector } from "../wire/proc-stats/host-inspector.ts";
import { createMachine } from "../wire/proc-stats/machine.ts";
import type { OpenDoctor } from "./commands/doctor.ts";

export const openDoctor: OpenDoctor = async ({ runtime: { endpoint, imageEndpoint, requestLimitMs } }) => {
  const cri = connectCri({ endpoint, imageEndpoint, requestLimitMs, onMalformed: () => {} }, hostClock);
  return {
    ports: {
      clock: hostClock,
      machine: createMachine(),
      inspector: createHostInspector(),
      kernel: createSysctls(),
      keys: hostKeys,
      runtime: cri.runtime,
      images: cri.images,
      ask: (connection, path, signal) => oneShotRequest(connection, path, hostClock, signal),
    },
    close: async () => cri.close(),
  };
};
