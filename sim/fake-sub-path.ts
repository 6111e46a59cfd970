/** Resolves a subPath inside a volume of the fake disk, as `src/wire/mounts/helper/open-beneath.ts` on a real disk. */
import { MountError } from "../src/ports/mounts.ts";
import { joined, type Located } from "./fake-disk.ts";
import type { FakeFiles } from "./fake-files.ts";

const LINKS_MAX = 40;

interface Part {
  readonly name: string;
  readonly linked: boolean;
}

const partsOf = (path: string, linked: boolean): readonly Part[] =>
  path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .map((name) => ({ name, linked }));

const fail = (path: string, code: "unsafePath" | "notFound" | "readOnly") =>
  new MountError("bind a subPath of", path, code, code);

/** Creates missing directories with the mode of the volume. */
export function locateBelow(files: FakeFiles, volume: Located, subPath: string): Located {
  const left = [...partsOf(subPath, false)];
  if (subPath.startsWith("/") || left.some(({ name }) => name === "..")) throw fail(subPath, "unsafePath");
  const way = [volume];
  const leave = () => {
    if (way.length === 1) throw fail(subPath, "unsafePath");
    way.pop();
  };
  let links = 0;
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    if (part.name === "..") {
      leave();
      continue;
    }
    const here = way.at(-1) ?? volume;
    if (here.entry.kind !== "directory") throw fail(subPath, "notFound");
    const path = joined(here.path, part.name);
    if (!here.entry.entries.has(part.name)) {
      if (part.linked) throw fail(subPath, "notFound");
      if (here.mount.isReadOnly) throw fail(subPath, "readOnly");
      files.makeDirectory(path, volume.entry.mode);
    }
    const found = files.disk.locate(path);
    if (found === undefined) throw fail(subPath, "notFound");
    way.push(found);
    if (found.entry.kind !== "link") continue;
    links += 1;
    if (links > LINKS_MAX) throw fail(subPath, "unsafePath");
    leave();
    const { target } = found.entry;
    const root = volume.path === "/" ? "" : volume.path;
    if (!target.startsWith("/")) left.unshift(...partsOf(target, true));
    else if (target === root || target.startsWith(`${root}/`)) {
      way.length = 1;
      left.unshift(...partsOf(target.slice(root.length), true));
    } else throw fail(subPath, "unsafePath");
  }
  return way.at(-1) ?? volume;
}
