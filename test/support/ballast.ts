/** Takes away the free space or the free inodes of a file system of a node, with files of the test. */
import { mkdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClusterNode } from "../cluster/cluster.ts";

/** No two files have the same name, whatever made them. */
let files = 0;

export class Ballast {
  readonly #node: ClusterNode;
  readonly #mountPoint: string;

  /** `mountPoint`: where the node sees the file system. */
  constructor(node: ClusterNode, mountPoint: string) {
    this.#node = node;
    this.#mountPoint = mountPoint;
  }

  async free(): Promise<{ readonly bytes: number; readonly inodes: number }> {
    const { bavail, bsize, ffree } = await statfs(this.#node.inside(this.#mountPoint));
    return { bytes: bavail * bsize, inodes: ffree };
  }

  async leaveBytes(bytes: number): Promise<void> {
    const excess = (await this.free()).bytes - bytes;
    if (excess <= 0) throw new Error(`only ${bytes + excess} bytes of ${this.#mountPoint} are free`);
    const directory = await this.#directory();
    files += 1;
    const file = join(directory, `bytes-${files}`);
    const { code, stderr } = await this.#node.run("fallocate", "--length", String(excess), file);
    if (code !== 0) throw new Error(stderr);
  }

  async leaveInodes(count: number): Promise<void> {
    const directory = this.#node.inside(await this.#directory());
    for (let excess = (await this.free()).inodes - count; excess > 0; excess -= 1) {
      files += 1;
      await writeFile(join(directory, `inode-${files}`), "");
    }
  }

  async remove(): Promise<void> {
    await rm(this.#node.inside(join(this.#mountPoint, "ballast")), { recursive: true, force: true });
  }

  async #directory(): Promise<string> {
    const directory = join(this.#mountPoint, "ballast");
    await mkdir(this.#node.inside(directory), { recursive: true });
    return directory;
  }
}
