/**
 * The environment variables of a container: those of `envFrom`, then `env` in order, and last those of Services. Of two
 * variables with the same name the later one wins, but a Service's variable never replaces another. A reference
 * resolves to variables set before it and to those of Services.
 *
 * Pure: when something is not known yet, the result contains the keys to wait for. When a reference cannot be resolved,
 * the result contains upstream's message.
 */
import type { Container, EnvFromSource, EnvVar, EnvVarSource, Pod, Service } from "../../../api/gen/core-v1.ts";
import type { ApiObject } from "../../../api/resource.ts";
import { assertNever } from "../../../base/assert.ts";
import { goQuote } from "../../../base/go-text.ts";
import { utf8Bytes } from "../../../base/utf8.ts";
import { type KnownObject, objectKey, referencesOf } from "../../cluster-objects/references.ts";
import { isStaticPod } from "../../pod/pod-identity.ts";
import type { EnvironmentVariable } from "../../runtime/container.ts";
import { valueInEnvFile } from "./env-file.ts";
import { expand } from "./expand.ts";
import { type PodPlace, type ReferredText, variableField } from "./field-reference.ts";
import { configMapValues, type ObjectValues, secretValues } from "./object-values.ts";
import { variableResource } from "./resource-reference.ts";
import { serviceEnvironment } from "./service-environment.ts";

/** The key to wait for the Services as a whole; other keys are those of objects. */
export const SERVICES_KEY = "services";

/** A file in one of the pod's volumes, as just read. */
export type EnvFile =
  | { readonly kind: "noVolume" }
  | { readonly kind: "unreadable" }
  | { readonly kind: "read"; readonly hostPath: string; readonly content: Uint8Array };

export interface EnvironmentInputs extends PodPlace {
  readonly pod: Pod;
  readonly container: Container;
  /** The node's allocatable resources, by resource name. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** By "namespace/name"; undefined until the first list. */
  readonly services: ReadonlyMap<string, Service> | undefined;
  readonly lookup: (key: string) => KnownObject<ApiObject> | undefined;
  readonly envFile: (volumeName: string, path: string) => EnvFile;
}

export type ContainerEnvironment =
  | { readonly kind: "ready"; readonly variables: readonly EnvironmentVariable[] }
  /** Not decidable yet: `message` is the error for as long as the keys in `for` are unknown. */
  | { readonly kind: "waits"; readonly for: readonly string[]; readonly message: string }
  /** `over`: the keys of the objects whose change may resolve this. */
  | { readonly kind: "refused"; readonly message: string; readonly over: readonly string[] };

type Stop = Exclude<ContainerEnvironment, { kind: "ready" }>;
type Variables = Map<string, Uint8Array>;

export function containerEnvironment(inputs: EnvironmentInputs): ContainerEnvironment {
  const { pod, container, services } = inputs;
  // Static pods do not wait for Services: one of them may start the API server.
  if (services === undefined && !isStaticPod(pod)) {
    const message = "services have not yet been read at least once, cannot construct envvars";
    return { kind: "waits", for: [SERVICES_KEY], message };
  }
  const links = pod.spec?.enableServiceLinks ?? true;
  const ofServices = serviceEnvironment(services?.values() ?? [], pod.metadata?.namespace ?? "", links);
  const own: Variables = new Map();
  for (const source of container.envFrom ?? []) {
    const stop = addAll(own, source, inputs);
    if (stop !== undefined) return stop;
  }
  const valueOf = (name: string) => own.get(name) ?? bytesOf(ofServices.get(name));
  for (const variable of container.env ?? []) {
    const value = variableValue(variable, valueOf, inputs);
    if (value.kind === "value") own.set(variable.name, value.value);
    else if (value.kind !== "absent") return value;
  }
  const rest = [...ofServices].filter(([name]) => !own.has(name));
  const variables = [...own, ...rest.map(([name, value]) => [name, utf8Bytes(value)] as const)];
  return { kind: "ready", variables: variables.map(([name, value]) => ({ name, value })) };
}

const bytesOf = (text: string | undefined): Uint8Array | undefined =>
  text === undefined ? undefined : utf8Bytes(text);

function addAll(own: Variables, { configMapRef, secretRef, prefix = "" }: EnvFromSource, inputs: EnvironmentInputs) {
  const found =
    configMapRef !== undefined
      ? valuesIn("ConfigMap", configMapRef, inputs)
      : secretRef !== undefined
        ? valuesIn("Secret", secretRef, inputs)
        : ABSENT;
  if (found.kind === "waits" || found.kind === "refused") return found;
  if (found.kind === "absent") return undefined;
  // Any key is accepted as a variable name: the kubelet does not validate names.
  for (const key of found.values.keys) {
    const value = found.values.valueOf(key);
    if (value !== undefined) own.set(`${prefix}${key}`, value);
  }
  return undefined;
}

/** "absent": the variable is optional and its source does not exist. */
type Value = { readonly kind: "value"; readonly value: Uint8Array } | typeof ABSENT | Stop;
const ABSENT = { kind: "absent" } as const;

function variableValue(
  { value = "", valueFrom }: EnvVar,
  valueOf: (name: string) => Uint8Array | undefined,
  inputs: EnvironmentInputs,
): Value {
  if (value !== "" || valueFrom === undefined) return { kind: "value", value: expand(value, valueOf) };
  return sourceValue(valueFrom, inputs);
}

function sourceValue(source: EnvVarSource, inputs: EnvironmentInputs): Value {
  const { pod, container, allocatable } = inputs;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef !== undefined) return ofText(variableField(fieldRef, pod, inputs));
  if (resourceFieldRef !== undefined) return ofText(variableResource(resourceFieldRef, pod, container, allocatable));
  if (configMapKeyRef !== undefined) return valueIn("ConfigMap", configMapKeyRef, inputs);
  if (secretKeyRef !== undefined) return valueIn("Secret", secretKeyRef, inputs);
  if (fileKeyRef !== undefined) return fileValue(fileKeyRef, inputs);
  return { kind: "value", value: new Uint8Array() };
}

const refused = (message: string, over: readonly string[] = []): Stop => ({ kind: "refused", message, over });

const ofText = (text: ReferredText): Value =>
  text.kind === "text" ? { kind: "value", value: utf8Bytes(text.text) } : refused(text.message);

type Holder = "ConfigMap" | "Secret";
type Named = { readonly name?: string; readonly optional?: boolean };

function valueIn(kind: Holder, { key, ...named }: Named & { readonly key: string }, inputs: EnvironmentInputs): Value {
  const found = valuesIn(kind, named, inputs);
  if (found.kind !== "present") return found;
  const value = found.values.valueOf(key);
  if (value !== undefined) return { kind: "value", value };
  if (named.optional === true) return ABSENT;
  const { namespace = "" } = inputs.pod.metadata ?? {};
  const name = named.name ?? "";
  return refused(`couldn't find key ${key} in ${kind} ${namespace}/${name}`, [objectKey(kind, namespace, name)]);
}

function valuesIn(
  kind: Holder,
  { name = "", optional }: Named,
  inputs: EnvironmentInputs,
): { readonly kind: "present"; readonly values: ObjectValues } | typeof ABSENT | Stop {
  const { namespace = "" } = inputs.pod.metadata ?? {};
  const key = objectKey(kind, namespace, name);
  const known = inputs.lookup(key);
  if (known === undefined) {
    return { kind: "waits", for: [key], message: `object ${goQuote(namespace)}/${goQuote(name)} not registered` };
  }
  switch (known.kind) {
    case "unknown": {
      const message = `failed to sync ${kind.toLowerCase()} cache: timed out waiting for the condition`;
      return { kind: "waits", for: unknownOf(inputs), message };
    }
    case "missing":
      return optional === true ? ABSENT : refused(`${kind.toLowerCase()} ${goQuote(name)} not found`, [key]);
    case "present": {
      const values = kind === "Secret" ? secretValues : configMapValues;
      return { kind: "present", values: values(known.object) };
    }
    default:
      return assertNever(known);
  }
}

/** Returns all unknown objects at once, so that the container waits for them together. */
function unknownOf({ pod, container, lookup }: EnvironmentInputs): readonly string[] {
  const named = referencesOf({ metadata: pod.metadata ?? {}, spec: { containers: [container] } });
  const keys = named.map(({ kind, namespace, name }) => objectKey(kind, namespace, name));
  return keys.filter((key) => lookup(key)?.kind === "unknown");
}

function fileValue(
  { volumeName, path, key, optional }: NonNullable<EnvVarSource["fileKeyRef"]>,
  { envFile }: EnvironmentInputs,
): Value {
  const file = envFile(volumeName, path);
  if (file.kind === "noVolume")
    return refused(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
  const answer = file.kind === "unreadable" ? undefined : valueInEnvFile(file.content, key);
  if (file.kind === "unreadable" || answer === undefined || answer.kind === "refused") {
    return refused("couldn't parse env file");
  }
  if (answer.kind === "value") return answer;
  if (optional === true) return ABSENT;
  return refused(`environment variable key ${goQuote(key)} not found in file ${goQuote(file.hostPath)}`);
}
