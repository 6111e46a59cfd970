/**
 * Files on the fake disk that do not come from the agent: the initial files of a machine, and the logs of containers.
 */
import { type DiskFile, directoryOf, nameOf, newFile } from "./fake-disk.ts";
import type { FakeFiles } from "./fake-files.ts";
import type { LogSink } from "./fake-runtime/logs.ts";

const LOG_MODE = 0o640;
const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

/** Opens the file, or creates it. */
function openFile(files: FakeFiles, path: string, mode: number): DiskFile {
  files.makeDirectory(directoryOf(path), DIRECTORY_MODE);
  const entries = files.disk.directory(directoryOf(path))?.entries;
  const found = entries?.get(nameOf(path));
  if (found?.kind === "file") return found;
  const made = newFile(mode, 0n, new Uint8Array());
  entries?.set(nameOf(path), made);
  return made;
}

/** Creates a file that exists from the beginning and survives a power loss. */
export function install(files: FakeFiles, path: string, text: string): void {
  const file = openFile(files, path, FILE_MODE);
  file.content = new TextEncoder().encode(text);
  file.onDisk = file.content;
  files.disk.syncName(path);
}

/** Logs on the node's disk. Like a real log, an open one stays the same file when it is renamed. */
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
