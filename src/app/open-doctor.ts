/** The adapters that `deckhand doctor` uses. */
import { connectCri } from "../wire/cri/client.ts";
import { hostClock } from "../wire/host/clock.ts";
import { createKernelSettings } from "../wire/host/kernel-settings.ts";
import { hostKeys } from "../wire/host/keys.ts";
import { askOnce } from "../wire/kube-api/ask-once.ts";
import { createHostSigns } from "../wire/proc-stats/host-signs.ts";
import { createMachine } from "../wire/proc-stats/machine.ts";
import type { OpenDoctor } from "./commands/doctor.ts";

export const openDoctor: OpenDoctor = async ({ runtime: { endpoint, imageEndpoint, requestLimitMs } }) => {
  const cri = connectCri({ endpoint, imageEndpoint, requestLimitMs, onMalformed: () => {} }, hostClock);
  return {
    ports: {
      clock: hostClock,
      machine: createMachine(),
      signs: createHostSigns(),
      kernel: createKernelSettings(),
      keys: hostKeys,
      runtime: cri.runtime,
      images: cri.images,
      ask: (connection, path, signal) => askOnce(connection, path, hostClock, signal),
    },
    close: async () => cri.close(),
  };
};
