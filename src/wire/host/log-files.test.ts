import { appendFile, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logFilesContract } from "../../../test/contract/log-files-contract.ts";
import { hostClock } from "./clock.ts";
import { createHostFiles } from "./files.ts";
import { hostLogFiles } from "./log-files.ts";

logFilesContract("the machine's disk", async () => {
  const directory = await mkdtemp(join(await realpath(tmpdir()), "logs-"));
  return {
    logs: hostLogFiles,
    files: createHostFiles({ clock: hostClock }),
    directory,
    append: (path, text) => appendFile(path, text),
    end: () => rm(directory, { recursive: true }),
  };
});
