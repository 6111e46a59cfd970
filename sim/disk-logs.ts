/** Container logs on the fake disk. */

import { folderOf, nameOf } from "./fake-disk.ts";
import type { FakeFiles } from "./fake-files.ts";
import type { LogSink, OpenFile } from "./fake-runtime/logs.ts";

const LOG_MODE = 0o640;
const FOLDER_MODE = 0o755;

/** A log on the node's disk. As a real one it stays the same file when it is renamed. */
export const diskLogs = (files: FakeFiles): LogSink => ({
  open: (path): OpenFile => {
    files.makeFolder(folderOf(path), FOLDER_MODE);
    const entries = files.disk.folder(folderOf(path))?.entries;
    const found = entries?.get(nameOf(path));
    const empty = new Uint8Array();
    const file =
      found?.kind === "file"
        ? found
        : { kind: "file" as const, mode: LOG_MODE, content: empty, onDisk: empty, modifiedWallNs: 0n };
    entries?.set(nameOf(path), file);
    return {
      append: (bytes) => {
        const room = files.disk.take(bytes.length);
        file.content = Buffer.concat([file.content, bytes.subarray(0, room)]);
      },
    };
  },
});
