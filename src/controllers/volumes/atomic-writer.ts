/**
 * Writes a set of files into a volume's directory so that readers see either the old set or the new one, never a mix.
 * `domain/volumes/write-plan.ts` plans the steps. After an interruption at any step, the next write completes or
 * repairs the directory.
 */
import type { FileSet } from "../../domain/volumes/file-set.ts";
import {
  DATA_LINK,
  DATA_LINK_NEXT,
  directoriesOf,
  groupDirectoryMode,
  groupMode,
  type PresentSet,
  planWrite,
  setDirectoryName,
} from "../../domain/volumes/write-plan.ts";
import type { Clock } from "../../ports/clock.ts";
import { type HostFiles, isMissing, isTooLarge } from "../../ports/host-files.ts";
import type { Random } from "../../ports/random.ts";
import { VOLUME_FILE_BYTES_MAX } from "../limits.ts";

export interface WriterPorts {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly random: Random;
}

export interface FileVolumePlace {
  readonly directory: string;
  /** Directories inside the volume on which another volume is mounted. */
  readonly nested: readonly string[];
  /** The group that may read the files besides their owner. */
  readonly group: number | undefined;
}

const DIRECTORY_MODE = 0o755;

/** `written` is the set that this process wrote last, if any: it is not read from disk again. */
export async function writeFiles(
  ports: WriterPorts,
  place: FileVolumePlace,
  wanted: FileSet,
  written?: FileSet,
): Promise<void> {
  const { files } = ports;
  const { directory } = place;
  const plan = planWrite(wanted, await presentSet(files, directory, written), place.nested);
  const next = plan.write === undefined ? undefined : await writeSet(ports, place, plan.write);
  for (const name of plan.addLinks) {
    await files.link(`${DATA_LINK}/${name}`, `${directory}/${name}`);
    const uid = ownerOf(wanted, name);
    if (uid !== undefined) await files.setOwner(`${directory}/${name}`, uid, place.group ?? 0);
  }
  if (next !== undefined) {
    await files.removeFile(`${directory}/${DATA_LINK_NEXT}`);
    await files.link(next, `${directory}/${DATA_LINK_NEXT}`);
    await files.rename(`${directory}/${DATA_LINK_NEXT}`, `${directory}/${DATA_LINK}`);
  }
  for (const name of plan.removeLinks) await files.removeFile(`${directory}/${name}`);
  for (const name of plan.removeDirectories) await files.removeTree(`${directory}/${name}`);
}

async function writeSet({ files, clock, random }: WriterPorts, place: FileVolumePlace, set: FileSet): Promise<string> {
  const name = setDirectoryName(clock.wallMs(), Math.floor(random.fraction() * 4_294_967_296));
  const directory = `${place.directory}/${name}`;
  const makeDirectory = async (path: string) => {
    await files.makeDirectory(path, DIRECTORY_MODE);
    if (place.group !== undefined) await files.setOwner(path, 0, place.group);
    await files.setMode(path, groupDirectoryMode(DIRECTORY_MODE, place.group));
  };
  await makeDirectory(directory);
  for (const each of directoriesOf(set)) await makeDirectory(`${directory}/${each}`);
  for (const [path, { content, mode, uid }] of set) {
    const owner = { ...(uid === undefined ? {} : { uid }), ...(place.group === undefined ? {} : { gid: place.group }) };
    await files.writeNew(`${directory}/${path}`, content, { mode: groupMode(mode, place.group), ...owner });
  }
  return name;
}

/** The common owner of the files behind a visible name; undefined if they differ. */
function ownerOf(set: FileSet, name: string): number | undefined {
  const owners = [...set].filter(([path]) => path === name || path.startsWith(`${name}/`)).map(([, { uid }]) => uid);
  return owners.every((uid) => uid === owners[0]) ? owners[0] : undefined;
}

async function presentSet(files: HostFiles, directory: string, written: FileSet | undefined): Promise<PresentSet> {
  const entries = await files.list(directory);
  const target = entries.includes(DATA_LINK) ? await files.readLink(`${directory}/${DATA_LINK}`) : undefined;
  if (target === undefined || !entries.includes(target)) return { directory: undefined, files: undefined, entries };
  return { directory: target, files: written ?? (await readSet(files, `${directory}/${target}`)), entries };
}

/** Undefined if an entry is not a regular file or directory, is too large to be ours, or disappeared meanwhile. */
async function readSet(files: HostFiles, root: string): Promise<PresentSet["files"]> {
  const found = new Map<string, { readonly content: Uint8Array; readonly mode: number }>();
  const directories = [""];
  try {
    for (let next = directories.pop(); next !== undefined; next = directories.pop()) {
      for (const name of await files.list(`${root}/${next}`)) {
        const path = next === "" ? name : `${next}/${name}`;
        const facts = await files.facts(`${root}/${path}`);
        if (facts?.kind === "directory") directories.push(path);
        else if (facts?.kind !== "file") return undefined;
        else found.set(path, { content: await files.read(`${root}/${path}`, VOLUME_FILE_BYTES_MAX), mode: facts.mode });
      }
    }
  } catch (error) {
    if (isMissing(error) || isTooLarge(error)) return undefined;
    throw error;
  }
  return found;
}
