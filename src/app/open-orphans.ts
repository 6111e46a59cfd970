/** The adapters that `deckhand orphans` uses: no API server and no event sink. */
import { connectCri } from "../wire/cri/client.ts";
import { hostClock } from "../wire/host/clock.ts";
import { createHostFiles } from "../wire/host/files.ts";
import { hostRandom } from "../wire/host/random.ts";
import { createMounts } from "../wire/mounts/mounts.ts";
import type { OpenOrphans } from "./commands/orphans-command.ts";
import { helperCommand, VOLUME_HELPER } from "./helper-command.ts";

export const openOrphans: OpenOrphans = async ({ runtime: { endpoint, requestLimitMs } }) => {
  const cri = connectCri({ endpoint, requestLimitMs, onMalformed: () => {} }, hostClock);
  const mounts = createMounts({ clock: hostClock, helper: helperCommand(VOLUME_HELPER) });
  return {
    ports: {
      clock: hostClock,
      random: hostRandom,
      files: createHostFiles({ clock: hostClock }),
      mounts,
      runtime: cri.runtime,
    },
    close: async () => {
      cri.close();
      await mounts.close();
    },
  };
};
