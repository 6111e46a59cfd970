/**
 * Image pulls: by policy, with and without credentials, failing ones, and image volumes. Each image is used by one case
 * only.
 */
import type { Container, LocalObjectReference, Pod, PodSpec } from "../../../../src/api/gen/core-v1.ts";
import {
  type Case,
  type Ending,
  lasting,
  type Place,
  RUNS,
  reported,
  SUCCEEDS,
  viewer,
  waits,
  withVolume,
} from "../case.ts";
import { makeSecret, NODE_FILE_REPOSITORY, NODE_FILE_WRONG_REPOSITORY } from "../objects.ts";

type Door = "open" | "guarded";

const pulls = (
  name: string,
  rows: readonly string[],
  image: (place: Place) => string,
  ending: Ending,
  { container = {}, secrets = [], pod = {} }: PullOptions = {},
): Case => ({
  name: `pull-${name}`,
  rows,
  ending,
  spec: (place) => ({
    containers: [viewer({ image: image(place), ...container })],
    ...(secrets.length === 0
      ? {}
      : { imagePullSecrets: secrets.map((secret): LocalObjectReference => ({ name: secret })) }),
    ...pod,
  }),
});
interface PullOptions {
  readonly container?: Partial<Container>;
  readonly secrets?: readonly string[];
  readonly pod?: Partial<PodSpec>;
}

const served =
  (door: Door, index: number, tag = ":1") =>
  (place: Place) =>
    `${place[door]}/deckhand/served-${index}${tag}`;
const always = { container: { imagePullPolicy: "Always" } } as const;
const never = { container: { imagePullPolicy: "Never" } } as const;
const DENIED = waits("ErrImagePull", "ImagePullBackOff");

const POLICIES: readonly Case[] = [
  pulls("always", ["9.1", "9.2", "9.4"], served("open", 1), SUCCEEDS, always),
  pulls("absent", ["9.1", "9.2"], served("open", 2), SUCCEEDS, { container: { imagePullPolicy: "IfNotPresent" } }),
  pulls("untagged", ["9.1"], served("open", 3, ""), SUCCEEDS),
  {
    name: "pull-never-present",
    rows: ["9.1", "9.2"],
    ending: SUCCEEDS,
    spec: { containers: [viewer({ imagePullPolicy: "Never" })] },
  },
  pulls("never-absent", ["9.1"], served("open", 4), waits("ErrImageNeverPull"), never),
  pulls("unreadable-name", ["9.1"], () => "Not/A:Name:At all", waits("InvalidImageName")),
  pulls("upper-case", ["9.1"], ({ open }) => `${open}/Deckhand/served-1:1`, waits("InvalidImageName")),
  pulls("no-such-tag", ["9.2", "9.3"], served("open", 5, ":2"), DENIED),
  pulls("no-such-image", ["9.2", "9.3"], ({ open }) => `${open}/deckhand/nothing:1`, DENIED),
  pulls("no-such-registry", ["9.3"], () => "127.0.0.1:9/deckhand/served-1:1", DENIED),
];

const CREDENTIALS: readonly Case[] = [
  {
    name: "pull-secret-late",
    rows: ["9.3", "9.5"],
    ending: SUCCEEDS,
    isTriedAgain: true,
    spec: (place) => ({
      containers: [viewer({ image: served("guarded", 23)(place) })],
      imagePullSecrets: [{ name: `pull-late-${place.node}` }],
    }),
    create: async (world, pod, side) => {
      await world.pods.create(pod);
      const isHeldBack = ({ status }: Pod) =>
        status?.containerStatuses?.[0]?.state?.waiting?.reason === "ImagePullBackOff";
      await world.pods.first(pod.metadata?.name ?? "", "was held back", isHeldBack);
      await makeSecret(world, `pull-late-${world.place(side).node}`);
    },
  },
  pulls("secret", ["9.5"], served("guarded", 6), SUCCEEDS, { secrets: ["pull-right"] }),
  pulls("secret-legacy", ["9.5"], served("guarded", 7), SUCCEEDS, { secrets: ["pull-legacy"] }),
  pulls("secret-second", ["9.5"], served("guarded", 8), SUCCEEDS, { secrets: ["pull-wrong", "pull-right"] }),
  pulls("secret-by-length", ["9.5"], served("guarded", 9), SUCCEEDS, { secrets: ["pull-by-length"] }),
  pulls("secret-of-account", ["9.5"], served("guarded", 10), SUCCEEDS, { pod: { serviceAccountName: "puller" } }),
  {
    ...pulls("secret-and-missing", ["9.5"], served("guarded", 11), SUCCEEDS, { secrets: ["absent", "pull-right"] }),
    repeats: {
      events: /^Warning FailedToRetrieveImagePullSecret /,
      why: "the Go kubelet reports a missing secret at every sync of a pod, however many there are; Deckhand once for each try",
    },
  },
  pulls("secret-needless", ["9.5"], served("open", 12), SUCCEEDS, { secrets: ["pull-wrong"] }),
  pulls("no-secret", ["9.5", "9.3"], served("guarded", 13), DENIED),
  pulls("secret-wrong", ["9.5", "9.2"], served("guarded", 14), DENIED, { secrets: ["pull-wrong"] }),
  pulls("secret-missing", ["9.5"], served("guarded", 15), DENIED, { secrets: ["absent"] }),
  pulls("secret-elsewhere", ["9.5"], served("guarded", 16), DENIED, { secrets: ["pull-elsewhere"] }),
  pulls("secret-opaque", ["9.5"], served("guarded", 17), DENIED, { secrets: ["pull-opaque"] }),
  pulls("secret-malformed", ["9.5"], served("guarded", 18), waits("illegal base64 data at input byte 0"), {
    secrets: ["pull-malformed"],
  }),
  pulls("node-file", ["9.6"], ({ guarded }) => `${guarded}/${NODE_FILE_REPOSITORY}:1`, SUCCEEDS),
  pulls("node-file-wrong", ["9.6"], ({ guarded }) => `${guarded}/${NODE_FILE_WRONG_REPOSITORY}:1`, DENIED),
];

const mounted = (
  name: string,
  ending: Ending,
  image: (place: Place) => { readonly reference: string; readonly pullPolicy?: string },
  more: { readonly subPath?: string; readonly secrets?: readonly string[] } = {},
): Case => ({
  name: `image-volume-${name}`,
  rows: ["9.12"],
  ending,
  spec: (place) =>
    withVolume(
      { image: image(place) },
      {
        ...(more.subPath === undefined ? {} : { mount: { subPath: more.subPath } }),
        ...(more.secrets === undefined
          ? {}
          : { pod: { imagePullSecrets: more.secrets.map((secret) => ({ name: secret })) } }),
      },
    ),
});
const files =
  (door: Door, index: number, tag = ":1") =>
  (place: Place) => ({
    reference: `${place[door]}/deckhand/files-${index}${tag}`,
  });

const VOLUMES: readonly Case[] = [
  mounted("plain", RUNS, files("open", 1)),
  mounted("always", RUNS, (place) => ({ ...files("open", 2)(place), pullPolicy: "Always" })),
  mounted("part", RUNS, files("open", 3), { subPath: "folder" }),
  mounted("guarded", RUNS, files("guarded", 4), { secrets: ["pull-right"] }),
  mounted("denied", DENIED, files("guarded", 5)),
  mounted("never", waits("ErrImageNeverPull"), (place) => ({ ...files("open", 6)(place), pullPolicy: "Never" })),
  mounted("no-such-part", waits("CreateContainerError"), files("open", 7), { subPath: "nothing" }),
];

export const IMAGE_CASES: readonly Case[] = [...POLICIES, ...CREDENTIALS, ...VOLUMES];

/**
 * For agents that may pull one image per second: the first is pulled, the second exceeds the limit. The first container
 * has its image and cannot be created, because on a loaded machine a start would take longer than that second.
 */
export const OVER_THE_LIMIT: readonly Case[] = [
  {
    name: "pull-too-many",
    rows: ["9.4"],
    eventsWithoutOrder:
      "the two containers pull beside one another; under the Go kubelet the second waits for the first",
    ending: reported("pull QPS exceeded"),
    spec: (place) => ({
      containers: [
        lasting({
          name: "main",
          image: served("open", 21)(place),
          env: [{ name: "ABSENT", valueFrom: { configMapKeyRef: { name: "nowhere", key: "word" } } }],
        }),
        lasting({ name: "second", image: served("open", 22)(place) }),
      ],
    }),
  },
];
