/** The environment of the Mounts contract suite. The kernel and the simulator provide the same one. */
import assert from "node:assert/strict";
import type { HostFiles } from "../../../src/ports/host-files.ts";
import { MountError, type MountErrorCode, type MountPoint, type Mounts } from "../../../src/ports/mounts.ts";

export interface MountsWorld {
  readonly mounts: Mounts;
  /** Reads and writes files as a container would. */
  readonly files: HostFiles;
  /** Empty, used by nothing else, and without links in its path. */
  readonly directory: string;
  /** Mounts a tmpfs on a directory without the port. */
  plant(path: string): Promise<void>;
  /** Mounts a file system that never answers on a directory, without the port. */
  plantDead(path: string): Promise<void>;
  /** Returns an empty block device. */
  device(): Promise<string>;
  end(): Promise<void>;
}

export interface Tools {
  readonly mounts: Mounts;
  readonly files: HostFiles;
  readonly world: MountsWorld;
  readonly at: (name: string) => string;
  /** Creates a file with its parent directories. */
  readonly write: (name: string, content: string) => Promise<void>;
  readonly read: (name: string) => Promise<string>;
  readonly list: (name: string) => Promise<string>;
  /** The mounts at a path; the last one is visible. */
  readonly mountsAt: (name: string) => Promise<readonly MountPoint[]>;
}

export type Given = () => Tools;

export const signal: AbortSignal = new AbortController().signal;

export function toolsOf(world: MountsWorld): Tools {
  const { mounts, files, directory } = world;
  const at = (name: string) => (name === "" ? directory : `${directory}/${name}`);
  return {
    mounts,
    files,
    world,
    at,
    write: async (name, content) => {
      await files.makeDirectory(at(name).slice(0, at(name).lastIndexOf("/")), 0o755);
      await files.writeNew(at(name), new TextEncoder().encode(content), { mode: 0o644 });
    },
    read: async (name) => new TextDecoder().decode(await files.read(at(name), 1000)),
    list: async (name) => (await files.list(at(name))).join(" "),
    mountsAt: async (name) => (await mounts.table()).filter(({ path }) => path === at(name)),
  };
}

export const rejects = (code: MountErrorCode, run: Promise<unknown>) =>
  assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof MountError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  });
