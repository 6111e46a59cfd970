/**
 * Validates a manifest that no API server has validated: names, required fields, ports, volumes, probes, resources.
 * Paths and messages are the API server's; an integration test checks both with the same invalid manifests.
 */
import type { HostAlias, Pod, PodDNSConfig, PodSpec, Toleration } from "../../api/gen/core-v1.ts";
import type { ObjectMeta } from "../../api/gen/meta-v1.ts";
import { parseIp } from "../../base/ip-address.ts";
import { dnsLabelTroubles, dnsSubdomainTroubles, labelKeyTroubles, labelValueTroubles } from "../../base/names.ts";
import { validateContainers, validateInitContainers } from "./container-validation.ts";
import { FieldErrors } from "./field-errors.ts";
import { validateVolumes } from "./volume-validation.ts";

const INT32_MAX = 2 ** 31 - 1;
const ANNOTATIONS_BYTES_MAX = 256 * 1024;

/** The errors of a pod whose defaults are set. Empty if the pod may run. */
export function podErrors(pod: Pod): readonly string[] {
  const errors = new FieldErrors();
  validateMetadata(errors, pod.metadata ?? {});
  validateSpec(errors, pod.spec ?? { containers: [] });
  return errors.all;
}

function validateMetadata(errors: FieldErrors, metadata: ObjectMeta): void {
  const { name = "", namespace = "", labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  if (name === "") errors.required("metadata.name", "name or generateName is required");
  else errors.invalid("metadata.name", name, ...dnsSubdomainTroubles(name));
  if (namespace === "") errors.required("metadata.namespace");
  else errors.invalid("metadata.namespace", namespace, ...dnsLabelTroubles(namespace));
  for (const [key, value] of Object.entries(labels)) {
    errors.invalid("metadata.labels", key, ...labelKeyTroubles(key));
    errors.invalid("metadata.labels", value, ...labelValueTroubles(value));
  }
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    errors.invalid("metadata.annotations", key, ...labelKeyTroubles(key.toLowerCase()));
    bytes += key.length + value.length;
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) {
    errors.forbidden("metadata.annotations", `may not be more than ${ANNOTATIONS_BYTES_MAX} bytes`);
  }
  for (const [index, owner] of ownerReferences.entries()) {
    const path = `metadata.ownerReferences[${index}]`;
    for (const field of ["apiVersion", "kind", "name", "uid"] as const) {
      if (!owner[field]) errors.invalid(`${path}.${field}`, owner[field] ?? "", `must not be empty`);
    }
  }
}

function validateSpec(errors: FieldErrors, spec: PodSpec): void {
  const volumes = validateVolumes(errors, "spec.volumes", spec.volumes ?? []);
  const context = { volumes, graceSeconds: spec.terminationGracePeriodSeconds ?? 30 };
  validateContainers(errors, "spec.containers", spec, context);
  validateInitContainers(errors, "spec.initContainers", spec, context);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.forbidden("spec.ephemeralContainers", "cannot be set on create");
  }
  if ((spec.schedulingGates ?? []).length > 0 && spec.nodeName) {
    errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  }
  errors.oneOf("spec.restartPolicy", spec.restartPolicy, ["Always", "OnFailure", "Never"]);
  errors.oneOf("spec.dnsPolicy", spec.dnsPolicy, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
  if (spec.preemptionPolicy !== undefined) {
    errors.oneOf("spec.preemptionPolicy", spec.preemptionPolicy, ["PreemptLowerPriority", "Never"]);
  }
  errors.inRange("spec.activeDeadlineSeconds", spec.activeDeadlineSeconds, 1, INT32_MAX);
  validateNames(errors, spec);
  validateDnsConfig(errors, spec.dnsConfig, spec.dnsPolicy);
  validateHostNamespaces(errors, spec);
  for (const [index, toleration] of (spec.tolerations ?? []).entries()) {
    validateToleration(errors, `spec.tolerations[${index}]`, toleration);
  }
  for (const [index, alias] of (spec.hostAliases ?? []).entries()) {
    validateHostAlias(errors, `spec.hostAliases[${index}]`, alias);
  }
}

function validateNames(errors: FieldErrors, spec: PodSpec): void {
  const { hostname, subdomain } = spec;
  if (hostname) errors.invalid("spec.hostname", hostname, ...dnsLabelTroubles(hostname));
  if (subdomain) errors.invalid("spec.subdomain", subdomain, ...dnsLabelTroubles(subdomain));
  for (const field of ["serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"] as const) {
    const name = spec[field];
    if (name) errors.invalid(`spec.${field}`, name, ...dnsSubdomainTroubles(name));
  }
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    errors.invalid("spec.nodeSelector", key, ...labelKeyTroubles(key));
    errors.invalid("spec.nodeSelector", value, ...labelValueTroubles(value));
  }
}

function validateHostNamespaces(errors: FieldErrors, spec: PodSpec): void {
  if (spec.shareProcessNamespace && spec.hostPID) {
    const path = "spec.securityContext.shareProcessNamespace";
    errors.invalid(path, true, "ShareProcessNamespace and HostPID cannot both be enabled");
  }
  if (spec.hostUsers === false) {
    const without = "when `hostUsers` is false";
    if (spec.hostNetwork) errors.forbidden("spec.hostNetwork", without);
    if (spec.hostPID) errors.forbidden("spec.HostPID", without);
    if (spec.hostIPC) errors.forbidden("spec.HostIPC", without);
  }
  if (!spec.hostNetwork) return;
  for (const [at, container] of (spec.containers ?? []).entries()) {
    for (const [index, port] of (container.ports ?? []).entries()) {
      if ((port.hostPort ?? 0) === (port.containerPort ?? 0)) continue;
      const path = `spec.containers[${at}].ports[${index}].hostPort`;
      errors.invalid(path, port.hostPort ?? 0, "must match `containerPort` when `hostNetwork` is true");
    }
  }
}

function validateDnsConfig(errors: FieldErrors, config: PodDNSConfig | undefined, policy: string | undefined): void {
  const servers = config?.nameservers ?? [];
  if (policy === "None") {
    if (config === undefined) {
      errors.required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (servers.length === 0) {
      const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
      errors.required("spec.dnsConfig.nameservers", detail);
    }
  }
  if (servers.length > 3) {
    errors.invalid("spec.dnsConfig.nameservers", servers.length, "must not have more than 3 nameservers");
  }
  for (const [index, server] of servers.entries()) {
    if (parseIp(server) === undefined) errors.invalid(`spec.dnsConfig.nameservers[${index}]`, server, IP_RULE);
  }
  for (const [index, option] of (config?.options ?? []).entries()) {
    if (!option.name) errors.required(`spec.dnsConfig.options[${index}]`, "must not be empty");
  }
}

const IP_RULE = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

function validateHostAlias(errors: FieldErrors, path: string, alias: HostAlias): void {
  if (parseIp(alias.ip) === undefined) errors.invalid(`${path}.ip`, alias.ip ?? "", IP_RULE);
  for (const [index, name] of (alias.hostnames ?? []).entries()) {
    errors.invalid(`${path}.hostnames[${index}]`, name, ...dnsSubdomainTroubles(name));
  }
}

function validateToleration(errors: FieldErrors, path: string, toleration: Toleration): void {
  const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
  if (key !== "") errors.invalid(`${path}.key`, key, ...labelKeyTroubles(key));
  else if (operator !== "Exists") {
    const rule = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.invalid(`${path}.operator`, operator, rule);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    errors.invalid(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (operator === "" || operator === "Equal") {
    const troubles = labelValueTroubles(value);
    if (troubles.length > 0) errors.invalid(`${path}.operator`, value, troubles.join(";"));
  } else if (operator === "Exists") {
    if (value !== "") errors.invalid(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'");
  } else {
    // The comparison operators are behind a feature gate that is off.
    const named = ["Equal", "Exists", ...(operator === "Lt" || operator === "Gt" ? ["Lt", "Gt"] : [])];
    errors.unsupported(`${path}.operator`, operator, named);
  }
  if (effect !== "") errors.oneOf(`${path}.effect`, effect, ["NoSchedule", "PreferNoSchedule", "NoExecute"]);
}
