/**
 * Gives a volume to a group (`fsGroup`), each file by a descriptor that holds it: a name may lead elsewhere from one
 * moment to the next. The root comes last, so a root that has the group proves a complete pass.
 *
 * The Go kubelet continues into whatever is mounted inside the volume. We do not: a privileged container can bind-mount
 * the host's own directories there, and they would be opened to the group.
 */
import { type BigIntStats, chmodSync, chownSync } from "node:fs";
import { errorText } from "../../../base/error-text.ts";
import { groupMode, rootIsOwned } from "../../../domain/volumes/fs-group.ts";
import type { FsGroupOutcome } from "../../../ports/mounts.ts";
import { mountsWithin } from "../mountinfo.ts";
import type { RequestOf } from "../protocol.ts";
import { DEPTH_MAX, entriesOf, Place } from "./descriptor.ts";
import { HelperError } from "./helper-error.ts";
import { inTable, readTable } from "./mounting.ts";

const MODE = 0o7777;

export function applyFsGroup(request: RequestOf<"applyFsGroup">, onFile: (files: number) => void): FsGroupOutcome {
  const { path, group, readOnly, onlyIfRootDiffers } = request;
  using root = Place.at(path);
  const { dev, mode, gid, ...found } = shapeOf(root.stat());
  if (found.isLink) throw new HelperError("unsafePath", "the volume is a link");
  if (onlyIfRootDiffers && rootIsOwned({ mode, gid, isDirectory: found.isDirectory }, group, readOnly)) {
    return { files: 0, refused: 0, firstRefusal: undefined };
  }
  const named = inTable(path);
  const inside = mountsWithin(readTable(), named).some((mount) => mount.path !== named);
  const pass = new Pass(request, dev, inside ? root.mountId() : undefined, onFile);
  pass.place(root, 0);
  return pass.outcome;
}

interface Shape {
  readonly dev: bigint;
  readonly mode: number;
  readonly gid: number;
  readonly isDirectory: boolean;
  readonly isLink: boolean;
}

const shapeOf = (found: BigIntStats): Shape => ({
  dev: found.dev,
  mode: Number(found.mode) & MODE,
  gid: Number(found.gid),
  isDirectory: found.isDirectory(),
  isLink: found.isSymbolicLink(),
});

class Pass {
  readonly #request: RequestOf<"applyFsGroup">;
  readonly #device: bigint;
  /** Undefined: nothing is mounted inside, so the mount ID of entries is not checked. */
  readonly #mountId: string | undefined;
  readonly #onFile: (files: number) => void;
  #files = 0;
  #refused = 0;
  #firstRefusal: string | undefined;

  constructor(
    request: RequestOf<"applyFsGroup">,
    device: bigint,
    mountId: string | undefined,
    onFile: (files: number) => void,
  ) {
    this.#request = request;
    this.#device = device;
    this.#mountId = mountId;
    this.#onFile = onFile;
  }

  get outcome(): FsGroupOutcome {
    return { files: this.#files, refused: this.#refused, firstRefusal: this.#firstRefusal };
  }

  place(place: Place, depth: number): void {
    const shape = shapeOf(place.stat());
    if (shape.dev !== this.#device || (this.#mountId !== undefined && place.mountId() !== this.#mountId)) return;
    if (depth > DEPTH_MAX) throw new HelperError("other", "the volume's directories are too deep");
    if (shape.isDirectory) for (const entry of entriesOf(place)) this.place(entry, depth + 1);
    this.#change(place, shape);
    this.#files += 1;
    this.#onFile(this.#files);
  }

  /** A change of owner clears mode bits of a file, so the mode is set after it. */
  #change(place: Place, shape: Shape): void {
    const { group, readOnly } = this.#request;
    const mode = shape.isLink ? shape.mode : groupMode(shape, readOnly);
    if (shape.gid === group && mode === shape.mode) return;
    const refusals = [
      shape.gid === group ? undefined : refusalOf(() => chownSync(place.path, -1, group)),
      shape.isLink ? undefined : refusalOf(() => chmodSync(place.path, mode)),
    ].filter((refusal) => refusal !== undefined);
    if (refusals.length > 0) this.#refused += 1;
    this.#firstRefusal ??= refusals[0];
  }
}

function refusalOf(change: () => void): string | undefined {
  try {
    change();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}
