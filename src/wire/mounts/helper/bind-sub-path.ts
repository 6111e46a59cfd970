/**
 * Binds a subPath of a volume to where a container takes it from. What is bound is what was resolved and is held, not
 * what its name leads to by then. In the end the mounted file is compared with the resolved one.
 */
import { lstatSync } from "node:fs";
import type { SubPathBind } from "../../../ports/mounts.ts";
import { mountsAt } from "../mountinfo.ts";
import { bindDescriptorCall } from "../tool-arguments.ts";
import { isSameFile } from "./descriptor.ts";
import { HelperError } from "./helper-error.ts";
import { inMadeDirectory, makeTarget, mount, readTable, unmount } from "./mounting.ts";
import { openBeneath } from "./open-beneath.ts";

/** The descriptor under which the tool inherits the file. */
const INHERITED = 3;

export async function bindSubPath({ volume, subPath, target }: SubPathBind): Promise<void> {
  using place = openBeneath(volume, subPath);
  const wanted = place.stat();
  const path = inMadeDirectory(target);
  if (mountsAt(readTable(), path).length > 0) {
    if (isSameFile(lstatSync(path, { bigint: true }), wanted)) return;
    await unmount({ path, lazy: false });
  }
  makeTarget(path, wanted.isDirectory());
  await mount(bindDescriptorCall(INHERITED, path), { descriptor: place.fd });
  if (isSameFile(lstatSync(path, { bigint: true }), wanted)) return;
  await unmount({ path, lazy: true });
  throw new HelperError("unsafePath", `what was bound to ${path} is not what "${subPath}" named`);
}
