/**
 * Checks whether a container sees a complete volume of written files: all values of an object from one version and none
 * missing, and every field and token present. The files alone show this, because the values of the simulator's objects
 * name the object they belong to.
 */
import type { Pod, Volume, VolumeProjection } from "../../src/api/gen/core-v1.ts";
import type { DiskFile } from "../fake-disk.ts";
import { textOf } from "./disk-view.ts";
import { type ObjectKind, type Reported, reportedBy } from "./self-describing-objects.ts";

type Files = ReadonlyMap<string, DiskFile>;

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The plugin directory of a volume of written files; undefined for other volumes. */
export function filePluginOf({ configMap, secret, downwardAPI, projected }: Volume): string | undefined {
  if (configMap !== undefined) return "configmap";
  if (secret !== undefined) return "secret";
  if (downwardAPI !== undefined) return "downward-api";
  return projected === undefined ? undefined : "projected";
}

function sourcesOf({ configMap, secret, downwardAPI, projected }: Volume): readonly VolumeProjection[] {
  if (configMap !== undefined) return [{ configMap }];
  if (downwardAPI !== undefined) return [{ downwardAPI }];
  if (secret === undefined) return projected?.sources ?? [];
  const { secretName: name = "", optional = false } = secret;
  return [{ secret: { name, optional } }];
}

/** What is wrong with the files, a few words each. */
export const flawsOf = (pod: Pod, volume: Volume, files: Files): readonly string[] =>
  sourcesOf(volume).flatMap((source) => flawsOfSource(pod, source, files));

function flawsOfSource(
  pod: Pod,
  { configMap, secret, downwardAPI, serviceAccountToken }: VolumeProjection,
  files: Files,
) {
  if (configMap !== undefined) return flawsOfObject("ConfigMap", configMap.name ?? "", configMap.optional, files);
  if (secret !== undefined) return flawsOfObject("Secret", secret.name ?? "", secret.optional, files);
  if (serviceAccountToken !== undefined) return flawsOfToken(serviceAccountToken.path, files);
  return (downwardAPI?.items ?? []).flatMap(({ path, fieldRef }) => {
    const text = files.get(path);
    if (text === undefined) return [`${path} is missing`];
    const name = pod.metadata?.name ?? "";
    const isRight = fieldRef?.fieldPath !== "metadata.name" || textOf(text) === name;
    return isRight ? [] : [`${path} says ${JSON.stringify(textOf(text))}, not ${name}`];
  });
}

function flawsOfToken(path: string, files: Files): readonly string[] {
  const file = files.get(path);
  if (file === undefined) return [`${path} is missing`];
  return TOKEN.test(textOf(file)) ? [] : [`${path} holds no whole token`];
}

export function reportOf(kind: ObjectKind, name: string, files: Files): ReadonlyMap<string, Reported> {
  const found = new Map<string, Reported>();
  for (const [path, file] of files) {
    const reported = reportedBy(textOf(file));
    if (reported?.kind === kind && reported.name === name) found.set(path, reported);
  }
  return found;
}

function flawsOfObject(kind: ObjectKind, name: string, optional: boolean | undefined, files: Files): readonly string[] {
  const found = [...reportOf(kind, name, files)];
  const [first] = found;
  const what = `${kind} ${name}`;
  if (first === undefined) return optional === true ? [] : [`nothing of ${what} is there`];
  const versions = new Set(found.map(([, { version }]) => version));
  if (versions.size > 1) return [`versions ${[...versions].join(" and ")} of ${what} are mixed`];
  const wrong = found.filter(([path, { key }]) => path !== key).map(([path]) => `${path} holds another key of ${what}`);
  const { keys, version } = first[1];
  return found.length === keys ? wrong : [...wrong, `${found.length} of ${keys} keys of version ${version} of ${what}`];
}
