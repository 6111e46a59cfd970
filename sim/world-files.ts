/** Files that others than the agent put on the fake disk: what a machine comes with, and the logs of containers. */
import { type DiskFile, folderOf, nameOf, newFile } from "./fake-disk.ts";
import type { FakeFiles } from "./fake-files.ts";
import type { LogSink } from "./fake-runtime/logs.ts";

const LOG_MODE = 0o640;
const FILE_MODE = 0o644;
const FOLDER_MODE = 0o755;

/** Opens what is there, or makes it. */
function openFile(files: FakeFiles, path: string, mode: number): DiskFile {
  files.makeFolder(folderOf(path), FOLDER_MODE);
  const entries = files.disk.folder(folderOf(path))?.entries;
  const found = entries?.get(nameOf(path));
  if (found?.kind === "file") return found;
  const made = newFile(mode, 0n, new Uint8Array());
  entries?.set(nameOf(path), made);
  return made;
}

/** A file that was there before anyone looked, and survives a loss of power. */
export function install(files: FakeFiles, path: string, text: string): void {
  const file = openFile(files, path, FILE_MODE);
  file.content = new TextEncoder().encode(text);
  file.onDisk = file.content;
  files.disk.syncName(path);
}

/** A log on the node's disk. As a real one it stays the same file when it is renamed. */
export const diskLogs = (files: FakeFiles): LogSink => ({
  open: (path) => {
    const file = openFile(files, path, LOG_MODE);
    return {
      append: (bytes) => {
        const room = files.disk.take(path, bytes.length);
        file.content = Buffer.concat([file.content, bytes.subarray(0, room)]);
        files.written(path);
      },
    };
  },
});
