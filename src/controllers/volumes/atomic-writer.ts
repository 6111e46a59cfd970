/**
 * Writes a set of files into a volume's folder so that readers see the old set or the new one, never a part: `domain/volumes/write-plan.ts` says how. At
 * whatever moment it is cut short, the next write finds what is there and finishes or repairs it.
 */
import type { FileSet } from "../../domain/volumes/file-set.ts";
import {
  DATA_LINK,
  DATA_LINK_NEXT,
  foldersOf,
  groupFolderMode,
  groupMode,
  type PresentSet,
  planWrite,
  setFolderName,
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
  readonly folder: string;
  /** Folders inside it that another volume is mounted upon. */
  readonly nested: readonly string[];
  /** Who may read beside the owner. */
  readonly group: number | undefined;
}

const FOLDER_MODE = 0o755;

/** `written` is what this process wrote there last, where it did: that need not be read again. */
export async function writeFiles(
  ports: WriterPorts,
  place: FileVolumePlace,
  wanted: FileSet,
  written?: FileSet,
): Promise<void> {
  const { files } = ports;
  const { folder } = place;
  const plan = planWrite(wanted, await presentSet(files, folder, written), place.nested);
  const next = plan.write === undefined ? undefined : await writeSet(ports, place, plan.write);
  for (const name of plan.addLinks) {
    await files.link(`${DATA_LINK}/${name}`, `${folder}/${name}`);
    const uid = ownerOf(wanted, name);
    if (uid !== undefined) await files.setOwner(`${folder}/${name}`, uid, place.group ?? 0);
  }
  if (next !== undefined) {
    await files.removeFile(`${folder}/${DATA_LINK_NEXT}`);
    await files.link(next, `${folder}/${DATA_LINK_NEXT}`);
    await files.rename(`${folder}/${DATA_LINK_NEXT}`, `${folder}/${DATA_LINK}`);
  }
  for (const name of plan.removeLinks) await files.removeFile(`${folder}/${name}`);
  for (const name of plan.removeFolders) await files.removeTree(`${folder}/${name}`);
}

async function writeSet({ files, clock, random }: WriterPorts, place: FileVolumePlace, set: FileSet): Promise<string> {
  const name = setFolderName(clock.wallMs(), Math.floor(random.fraction() * 4_294_967_296));
  const folder = `${place.folder}/${name}`;
  const makeFolder = async (path: string) => {
    await files.makeFolder(path, FOLDER_MODE);
    if (place.group !== undefined) await files.setOwner(path, 0, place.group);
    await files.setMode(path, groupFolderMode(FOLDER_MODE, place.group));
  };
  await makeFolder(folder);
  for (const each of foldersOf(set)) await makeFolder(`${folder}/${each}`);
  for (const [path, { content, mode, uid }] of set) {
    const owner = { ...(uid === undefined ? {} : { uid }), ...(place.group === undefined ? {} : { gid: place.group }) };
    await files.writeNew(`${folder}/${path}`, content, { mode: groupMode(mode, place.group), ...owner });
  }
  return name;
}

/** Of the files behind a name that users see, the owner they agree on. */
function ownerOf(set: FileSet, name: string): number | undefined {
  const owners = [...set].filter(([path]) => path === name || path.startsWith(`${name}/`)).map(([, { uid }]) => uid);
  return owners.every((uid) => uid === owners[0]) ? owners[0] : undefined;
}

async function presentSet(files: HostFiles, folder: string, written: FileSet | undefined): Promise<PresentSet> {
  const entries = await files.list(folder);
  const target = entries.includes(DATA_LINK) ? await files.readLink(`${folder}/${DATA_LINK}`) : undefined;
  if (target === undefined || !entries.includes(target)) return { folder: undefined, files: undefined, entries };
  return { folder: target, files: written ?? (await readSet(files, `${folder}/${target}`)), entries };
}

/** Undefined when something in it is no plain file or folder, is too large to be ours, or went away meanwhile. */
async function readSet(files: HostFiles, root: string): Promise<PresentSet["files"]> {
  const found = new Map<string, { readonly content: Uint8Array; readonly mode: number }>();
  const folders = [""];
  try {
    for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
      for (const name of await files.list(`${root}/${next}`)) {
        const path = next === "" ? name : `${next}/${name}`;
        const facts = await files.facts(`${root}/${path}`);
        if (facts?.kind === "folder") folders.push(path);
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
