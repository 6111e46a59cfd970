/** Lines of a mount table, without what differs from mount to mount: ids, devices, and paths of layers. */
export interface MountLine {
  readonly at: string;
  readonly root: string;
  readonly options: string;
  /** "shared", "master", "unbindable"; without the ids of peer groups. */
  readonly propagation: readonly string[];
  readonly type: string;
  readonly superOptions: string;
}

/** Sorted by path; mounts on the same path keep their order. */
export const parseMountinfo = (text: string, wanted: (point: string) => boolean): readonly MountLine[] =>
  text
    .split("\n")
    .flatMap((line) => {
      const fields = line.split(" ");
      const [root = "", point = "", options = ""] = fields.slice(3, 6).map(unescaped);
      if (!wanted(point)) return [];
      const dash = fields.indexOf("-", 6);
      const [type = "", , superOptions = ""] = fields.slice(dash + 1);
      const propagation = fields.slice(6, dash).map((field) => field.replace(/:\d+$/, ""));
      return [{ at: point, root, options, propagation, type, superOptions: withoutPlaces(superOptions) }];
    })
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));

const unescaped = (field: string): string =>
  field.replaceAll(/\\(?<octal>[0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Options of tmpfs and overlay that depend on the kernel's version and build. */
const OF_THE_KERNEL = /^(?:inode64|volatile|(?:uuid|fsync|xino)=.*)$/;

/** Removes paths from the options: an overlay names its layers. */
const withoutPlaces = (options: string): string =>
  options
    .split(",")
    .filter((option) => !OF_THE_KERNEL.test(option))
    .map((option) => option.replace(/=.*\/.*$/, "=<place>"))
    .join(",");
