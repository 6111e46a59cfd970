import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createHostFiles } from "../../src/wire/host/files.ts";
import { journalContract } from "./journal-contract.ts";

journalContract("the host's files", async () => {
  const scratch = mkdtempSync(join(tmpdir(), "deckhand-journal-"));
  return {
    restart: () => createHostFiles({ clock: hostClock }),
    directory: join(scratch, "deckhand/journal"),
    end: async () => rmSync(scratch, { recursive: true }),
  };
});
