/** Cases of PersistentVolumeClaims: local volumes, volumes of other nodes and servers, and unusable claims. */
import type { Volume } from "../../../../src/api/gen/core-v1.ts";
import { type Case, RUNS, reported, withVolume } from "../case.ts";
import { bind, claimBound, claimName, unscheduled } from "../objects.ts";

const claimed = (name: string, more: { readonly readOnly?: true } = {}): Omit<Volume, "name"> => ({
  persistentVolumeClaim: { claimName: name, ...more },
});
const using = (name: string, rows: readonly string[], ending: Case["ending"]): Case => ({
  name: `claim-${name}`,
  rows,
  ending,
  spec: ({ node }) => withVolume(claimed(claimName(name, node))),
});

const EPHEMERAL: Omit<Volume, "name"> = {
  ephemeral: {
    volumeClaimTemplate: {
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "",
        resources: { requests: { storage: "1Gi" } },
      },
    },
  },
};

export const CLAIM_CASES: readonly Case[] = [
  using("plain", ["13.16", "13.30", "27.1.9"], RUNS),
  using("host", ["13.30", "13.6"], RUNS),
  {
    name: "claim-read",
    rows: ["13.16", "13.30", "13.15"],
    ending: RUNS,
    spec: ({ node }) => withVolume(claimed(claimName("read", node), { readOnly: true })),
  },
  {
    name: "claim-ephemeral",
    rows: ["13.30", "13.16"],
    ending: RUNS,
    spec: withVolume(EPHEMERAL),
    create: async (world, pod, side) => {
      await world.pods.create(unscheduled(pod));
      await claimBound(world, `${pod.metadata?.name}-data`);
      await bind(world, pod.metadata?.name ?? "", world.place(side).node);
    },
  },
  using("foreign", ["13.16", "13.1"], reported("NodeAffinity")),
  using("missing", ["13.16", "13.1"], reported("local-missing")),
  using("file", ["13.16", "13.1"], reported("only directory and block device are supported")),
  using("unbound", ["13.30", "13.1"], reported("failed to process volumes")),
  using("host-refused", ["13.30", "13.6"], reported("hostPath type check failed")),
  using("block", ["13.30", "13.1"], reported("volumeMode")),
  using("absent", ["13.30", "13.1"], reported("failed to process volumes")),
  {
    name: "claim-ephemeral-foreign",
    rows: ["13.30"],
    ending: reported("failed to process volumes"),
    spec: withVolume(EPHEMERAL),
  },
];
