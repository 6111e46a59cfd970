/** What the contract suite of the Mounts port needs of the world it runs in. The kernel's and the simulator's provide the same. */
import assert from "node:assert/strict";
import type { HostFiles } from "../../../src/ports/host-files.ts";
import { MountError, type MountErrorCode, type MountPoint, type Mounts } from "../../../src/ports/mounts.ts";

export interface MountsWorld {
  readonly mounts: Mounts;
  /** To be the container, and to see what it would see. */
  readonly files: HostFiles;
  /** Empty, only ours, and with no link on the way. */
  readonly folder: string;
  /** Somebody else mounts memory on a folder. */
  plant(path: string): Promise<void>;
  /** Somebody mounts on a folder what never answers. */
  plantDead(path: string): Promise<void>;
  /** A block device with nothing on it. */
  device(): Promise<string>;
  end(): Promise<void>;
}

export interface Tools {
  readonly mounts: Mounts;
  readonly files: HostFiles;
  readonly world: MountsWorld;
  readonly at: (name: string) => string;
  /** A file with its folders. */
  readonly write: (name: string, content: string) => Promise<void>;
  readonly read: (name: string) => Promise<string>;
  readonly list: (name: string) => Promise<string>;
  /** The mounts at a path, the one that is seen last. */
  readonly mountsAt: (name: string) => Promise<readonly MountPoint[]>;
}

export type Given = () => Tools;

export const signal: AbortSignal = new AbortController().signal;

export function toolsOf(world: MountsWorld): Tools {
  const { mounts, files, folder } = world;
  const at = (name: string) => (name === "" ? folder : `${folder}/${name}`);
  return {
    mounts,
    files,
    world,
    at,
    write: async (name, content) => {
      await files.makeFolder(at(name).slice(0, at(name).lastIndexOf("/")), 0o755);
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
