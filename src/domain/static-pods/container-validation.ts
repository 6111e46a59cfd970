/** Validates the containers of a pod, separately and together. */
import type { Container, ContainerPort, EnvVar, PodSpec } from "../../api/gen/core-v1.ts";
import { dnsLabelTroubles, portNameTroubles, portNumberTroubles, variableNameTroubles } from "../../base/names.ts";
import type { FieldErrors } from "./field-errors.ts";
import { probeKinds, validateLifecycle, validateProbe } from "./probe-validation.ts";
import { validateResources } from "./resource-validation.ts";
import { type KnownVolumes, validateVolumeDevices, validateVolumeMounts } from "./volume-validation.ts";

export interface ContainerContext {
  readonly volumes: KnownVolumes;
  readonly graceSeconds: number;
}

export function validateContainers(errors: FieldErrors, path: string, spec: PodSpec, context: ContainerContext): void {
  const containers = spec.containers ?? [];
  if (containers.length === 0) errors.required(path);
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const own = `${path}[${index}]`;
    validateContainer(errors, own, container, context.volumes);
    if (names.has(container.name)) errors.duplicate(`${own}.name`, container.name);
    names.add(container.name);
    validateRunning(errors, own, container, spec, context.graceSeconds);
    validateRestart(errors, own, container);
  }
  validateHostPorts(errors, path, containers);
}

export function validateInitContainers(
  errors: FieldErrors,
  path: string,
  spec: PodSpec,
  context: ContainerContext,
): void {
  const names = new Set((spec.containers ?? []).map(({ name }) => name));
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const own = `${path}[${index}]`;
    validateContainer(errors, own, container, context.volumes);
    validateRestart(errors, own, container);
    if (names.has(container.name)) errors.duplicate(`${own}.name`, container.name);
    else if (container.name) names.add(container.name);
    validateHostPorts(errors, path, [container]);
    if (container.restartPolicy === "Always") {
      validateRunning(errors, own, container, spec, context.graceSeconds);
      continue;
    }
    for (const field of ["lifecycle", ...probeKinds] as const) {
      if (container[field] === undefined) continue;
      errors.forbidden(`${own}.${field}`, "may not be set for init containers without restartPolicy=Always");
    }
  }
}

function validateContainer(errors: FieldErrors, path: string, container: Container, volumes: KnownVolumes): void {
  const { name, image = "" } = container;
  if (name === "") errors.required(`${path}.name`);
  else errors.invalid(`${path}.name`, name, ...dnsLabelTroubles(name));
  if (image === "") errors.required(`${path}.image`);
  else if (image !== image.trim()) {
    errors.invalid(`${path}.image`, image, "must not have leading or trailing whitespace");
  }
  const policies = ["File", "FallbackToLogsOnError"];
  errors.oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, policies);
  errors.oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ["Always", "IfNotPresent", "Never"]);
  validatePorts(errors, `${path}.ports`, container.ports ?? []);
  for (const [index, variable] of (container.env ?? []).entries()) {
    validateVariable(errors, `${path}.env[${index}]`, variable);
  }
  for (const [index, source] of (container.envFrom ?? []).entries()) {
    const given = [source.configMapRef, source.secretRef].filter((reference) => reference !== undefined).length;
    const own = `${path}.envFrom[${index}]`;
    if (given === 0) errors.invalid(own, "", "must specify one of: `configMapRef` or `secretRef`");
    if (given > 1) errors.invalid(own, "", "may not have more than one field specified at a time");
    if (source.prefix) errors.invalid(`${own}.prefix`, source.prefix, ...variableNameTroubles(source.prefix));
  }
  validateVolumeMounts(errors, `${path}.volumeMounts`, container, volumes);
  validateVolumeDevices(errors, `${path}.volumeDevices`, container, volumes);
  validateResources(errors, `${path}.resources`, container.resources ?? {});
}

function validateRunning(
  errors: FieldErrors,
  path: string,
  container: Container,
  spec: PodSpec,
  graceSeconds: number,
): void {
  if (container.lifecycle !== undefined) {
    validateLifecycle(errors, `${path}.lifecycle`, container.lifecycle, graceSeconds, spec.os?.name);
  }
  for (const kind of probeKinds) {
    const probe = container[kind];
    if (probe !== undefined) validateProbe(errors, `${path}.${kind}`, kind, probe, graceSeconds);
  }
}

function validateRestart(errors: FieldErrors, path: string, { restartPolicy, restartPolicyRules }: Container): void {
  const rules = restartPolicyRules ?? [];
  if (restartPolicy === undefined) {
    if (rules.length > 0) {
      errors.required(`${path}.restartPolicy`, "must specify restartPolicy when restart rules are used");
    }
    return;
  }
  const policies = ["Always", "Never", "OnFailure"];
  if (!policies.includes(restartPolicy)) errors.unsupported(`${path}.restartPolicy`, restartPolicy, policies);
  for (const [index, rule] of rules.entries()) {
    const own = `${path}.restartPolicyRules[${index}]`;
    const actions = ["Restart", "RestartAllContainers"];
    if (!actions.includes(rule.action)) errors.unsupported(`${own}.action`, rule.action, actions);
    if (rule.exitCodes === undefined) errors.required(`${own}.exitCodes`, "must be specified");
  }
}

function validatePorts(errors: FieldErrors, path: string, ports: readonly ContainerPort[]): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const own = `${path}[${index}]`;
    const { name = "", containerPort, hostPort = 0, protocol } = port;
    if (name !== "") {
      const troubles = portNameTroubles(name);
      errors.invalid(`${own}.name`, name, ...troubles);
      if (troubles.length === 0 && names.has(name)) errors.duplicate(`${own}.name`, name);
      if (troubles.length === 0) names.add(name);
    }
    if (containerPort === 0) errors.required(`${own}.containerPort`);
    else errors.invalid(`${own}.containerPort`, containerPort, ...portNumberTroubles(containerPort));
    if (hostPort !== 0) errors.invalid(`${own}.hostPort`, hostPort, ...portNumberTroubles(hostPort));
    errors.oneOf(`${own}.protocol`, protocol, ["SCTP", "TCP", "UDP"]);
  }
}

function validateHostPorts(errors: FieldErrors, path: string, containers: readonly Container[]): void {
  const taken = new Set<string>();
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [at, { protocol = "", hostIP = "", hostPort = 0 }] of ports.entries()) {
      if (hostPort === 0) continue;
      const port = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(port)) errors.duplicate(`${path}[${index}].ports[${at}].hostPort`, port);
      taken.add(port);
    }
  }
}

const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

const isSubscripted = (path: string) => /^metadata\.(?:labels|annotations)\['[^']+'\]$/.test(path);

function validateVariable(errors: FieldErrors, path: string, variable: EnvVar): void {
  if (!variable.name) errors.required(`${path}.name`);
  else errors.invalid(`${path}.name`, variable.name, ...variableNameTroubles(variable.name));
  const { valueFrom } = variable;
  if (valueFrom === undefined) return;
  const own = `${path}.valueFrom`;
  const given = Object.keys(valueFrom).length;
  if (given === 0) {
    const names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.invalid(own, "", `must specify one of: ${names}`);
  } else if (variable.value) errors.invalid(own, "", "may not be specified when `value` is not empty");
  else if (given > 1) errors.invalid(own, "", "may not have more than one field specified at a time");
  const field = valueFrom.fieldRef?.fieldPath;
  if (field === "") errors.required(`${own}.fieldRef.fieldPath`);
  else if (field !== undefined && !fieldPaths.includes(field) && !isSubscripted(field)) {
    const known = ["metadata.annotations", "metadata.labels"].includes(field);
    if (known) errors.unsupported(`${own}.fieldRef.fieldPath`, field, fieldPaths);
    else {
      errors.invalid(
        `${own}.fieldRef.fieldPath`,
        field,
        `error converting fieldPath: field label not supported: ${field}`,
      );
    }
  }
}
