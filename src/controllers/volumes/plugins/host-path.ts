/** A path of the node, specified by the pod or by a PersistentVolume. It is neither mounted nor measured. */
import { hostPathStep } from "../../../domain/volumes/host-path.ts";
import { refused, type SetUpWork, VolumeFailure, type VolumePlugin } from "../plugin.ts";

export const hostPathPlugin: VolumePlugin = {
  name: "host-path",
  sources: ["hostPath"],
  persistentSources: ["hostPath"],
  content: "elsewhere",
  holdsFiles: true,
  ownsMount: () => false,
  plan({ volume, persistent, readOnly }) {
    const source = (persistent === undefined ? volume : persistent.spec)?.hostPath;
    const [path, type] = [source?.path ?? "", source?.type ?? ""];
    if (path.split("/").includes("..")) return refused(`invalid HostPath \`${path}\`: must not contain '..'`);
    return {
      kind: "planned",
      async setUp(work) {
        await check(work, path, type);
        return { path, readOnly, selinuxRelabel: false, measured: undefined };
      },
    };
  },
};

async function check({ ports: { mounts }, signal }: SetUpWork, path: string, type: string): Promise<void> {
  if (type === "") return;
  const step = hostPathStep(path, type, await mounts.kindOf(path, signal));
  if (step.kind === "refused") throw new VolumeFailure("MountVolume.SetUp failed", step.message);
  if (step.kind === "makeDirectory") await mounts.makeDirectory(path, step.mode, signal);
  if (step.kind === "makeFile") await mounts.makeFile(path, step.mode, signal);
}
