/** Volume fixtures: ConfigMaps, Secrets, and pod specs that mount them and the token volume the API server adds. */
import type { Container, Pod, Volume } from "../src/api/gen/core-v1.ts";
import { configMaps, secrets } from "../src/api/resources.ts";
import { isAlreadyExists } from "../src/ports/api-error.ts";
import type { ApiServer } from "../src/ports/api-server.ts";
import { BUSYBOX_IMAGE, PAUSE_IMAGE } from "../test/cluster/images.ts";

const SETTINGS = "settings";
const KEYS = "keys";
const forever = new AbortController().signal;

/** The volume that the API server's ServiceAccount admission plugin mounts into every pod. */
const TOKEN: Volume = {
  name: "kube-api-access",
  projected: {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
};
const TOKEN_MOUNT = { name: TOKEN.name, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true };

const VOLUMES: readonly Volume[] = [
  TOKEN,
  { name: "config", configMap: { name: SETTINGS } },
  { name: "keys", secret: { secretName: KEYS } },
  { name: "scratch", emptyDir: {} },
  { name: "about", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
];
const MOUNTS = [TOKEN_MOUNT, ...VOLUMES.slice(1).map(({ name }) => ({ name, mountPath: `/${name}` }))];

const pause = (name: string, volumeMounts: NonNullable<Container["volumeMounts"]>): Container => ({
  name,
  image: PAUSE_IMAGE,
  volumeMounts,
});

/** One container with its service account's token. */
export const tokenSpec: Partial<NonNullable<Pod["spec"]>> = {
  volumes: [TOKEN],
  containers: [pause("app", [TOKEN_MOUNT])],
};

export const INIT_COMMAND: string[] = ["true"];

/** One init container and two containers, with every volume type that an ordinary pod has. */
export const volumesSpec: Partial<NonNullable<Pod["spec"]>> = {
  volumes: VOLUMES,
  initContainers: [{ name: "init", image: BUSYBOX_IMAGE, command: INIT_COMMAND, volumeMounts: MOUNTS }],
  containers: [pause("app", MOUNTS), pause("second", MOUNTS)],
};

export const editedSpec = (configMap: string): Partial<NonNullable<Pod["spec"]>> => ({
  volumes: [{ name: "config", configMap: { name: configMap } }],
  containers: [pause("app", [{ name: "config", mountPath: "/config" }])],
});

/** Creates the ConfigMaps and the Secret in a namespace; existing ones stay unchanged. */
export async function createVolumeSources(api: ApiServer, namespace: string): Promise<void> {
  const entries = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`key-${index}`, "x".repeat(200)]));
  const data = Object.fromEntries(
    Object.entries(entries).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  await unlessThere(
    api.create(
      configMaps,
      { metadata: { namespace, name: "kube-root-ca.crt" }, data: { "ca.crt": "x".repeat(1100) } },
      forever,
    ),
  );
  await unlessThere(api.create(configMaps, { metadata: { namespace, name: SETTINGS }, data: entries }, forever));
  await unlessThere(api.create(secrets, { metadata: { namespace, name: KEYS }, data }, forever));
}

export async function unlessThere(made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
