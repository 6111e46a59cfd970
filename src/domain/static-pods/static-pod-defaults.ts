/**
 * Sets the defaults that the API server would set. A static pod never passes through an API server, but a file and an
 * API server must produce the same pod: an integration test compares the two field by field. Where only an absent field
 * is defaulted, an empty value of a plain field counts as absent, as on the wire.
 */
import type {
  Container,
  ContainerPort,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  Pod,
  PodSpec,
  Probe,
} from "../../api/gen/core-v1.ts";
import { defaultImagePullPolicy } from "../images/pull-policy.ts";
import { defaultPodResources, requestsFromLimits, roundResources } from "./resource-defaults.ts";
import { defaultFieldRef, defaultResourceRef, defaultVolume } from "./volume-defaults.ts";

export function defaultPod(pod: Pod): Pod {
  const spec: PodSpec = pod.spec ?? { containers: [] };
  const withRequests = (container: Container) => requestsFromLimits(container);
  const containers = (spec.containers ?? []).map(withRequests);
  const initContainers = spec.initContainers?.map(withRequests);
  const resources = defaultPodResources(spec.resources, containers, initContainers ?? []);
  const hostNetwork = spec.hostNetwork === true;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(resources === undefined ? {} : { resources: roundResources(resources) }),
      ...(spec.overhead === undefined ? {} : { overhead: roundResources({ limits: spec.overhead }).limits ?? {} }),
      containers: containers.map((container) => defaultContainer(container, hostNetwork)),
      ...(initContainers === undefined
        ? {}
        : { initContainers: initContainers.map((container) => defaultContainer(container, hostNetwork)) }),
      ...(spec.ephemeralContainers === undefined
        ? {}
        : { ephemeralContainers: spec.ephemeralContainers.map(defaultEphemeralContainer) }),
      ...(spec.volumes === undefined ? {} : { volumes: spec.volumes.map(defaultVolume) }),
      enableServiceLinks: spec.enableServiceLinks ?? true,
      dnsPolicy: spec.dnsPolicy || "ClusterFirst",
      restartPolicy: spec.restartPolicy || "Always",
      securityContext: spec.securityContext ?? {},
      terminationGracePeriodSeconds: gracePeriod(spec.terminationGracePeriodSeconds),
      schedulerName: spec.schedulerName || "default-scheduler",
      ...serviceAccount(spec),
    },
  };
}

/** A negative grace period means "at once, but orderly". */
const gracePeriod = (seconds: number | undefined) => (seconds === undefined ? 30 : seconds < 0 ? 1 : seconds);

/** The old field name is an alias: both fields are set. */
function serviceAccount(spec: PodSpec): Pick<PodSpec, "serviceAccount" | "serviceAccountName"> {
  const name = spec.serviceAccountName || spec.serviceAccount || "";
  return name === "" ? {} : { serviceAccountName: name, serviceAccount: name };
}

function defaultEphemeralContainer(container: EphemeralContainer): EphemeralContainer {
  return { ...container, ...defaultContainer(container, false) };
}

function defaultContainer(container: Container, hostNetwork: boolean): Container {
  const { ports, env, resources, livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  return {
    ...container,
    imagePullPolicy: container.imagePullPolicy || defaultImagePullPolicy(container.image ?? ""),
    terminationMessagePath: container.terminationMessagePath || "/dev/termination-log",
    terminationMessagePolicy: container.terminationMessagePolicy || "File",
    resources: roundResources(resources ?? {}),
    ...(ports === undefined ? {} : { ports: ports.map((port) => defaultPort(port, hostNetwork)) }),
    ...(env === undefined ? {} : { env: env.map(defaultEnv) }),
    ...(livenessProbe === undefined ? {} : { livenessProbe: defaultProbe(livenessProbe) }),
    ...(readinessProbe === undefined ? {} : { readinessProbe: defaultProbe(readinessProbe) }),
    ...(startupProbe === undefined ? {} : { startupProbe: defaultProbe(startupProbe) }),
    ...(lifecycle === undefined ? {} : { lifecycle: defaultLifecycle(lifecycle) }),
  };
}

function defaultPort(port: ContainerPort, hostNetwork: boolean): ContainerPort {
  const { containerPort, hostPort } = port;
  return {
    ...port,
    protocol: port.protocol || "TCP",
    // With hostNetwork, a port of the container is a port of the node.
    ...(hostNetwork && !hostPort && containerPort ? { hostPort: containerPort } : {}),
  };
}

function defaultEnv(variable: EnvVar): EnvVar {
  const { valueFrom } = variable;
  if (valueFrom === undefined) return variable;
  const { fieldRef, fileKeyRef, resourceFieldRef } = valueFrom;
  return {
    ...variable,
    valueFrom: {
      ...valueFrom,
      ...(fieldRef === undefined ? {} : { fieldRef: defaultFieldRef(fieldRef) }),
      ...(resourceFieldRef === undefined ? {} : { resourceFieldRef: defaultResourceRef(resourceFieldRef) }),
      ...(fileKeyRef === undefined ? {} : { fileKeyRef: { ...fileKeyRef, optional: fileKeyRef.optional ?? false } }),
    },
  };
}

function defaultProbe(probe: Probe): Probe {
  const { httpGet, grpc } = probe;
  return {
    ...probe,
    timeoutSeconds: probe.timeoutSeconds || 1,
    periodSeconds: probe.periodSeconds || 10,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
    ...(httpGet === undefined ? {} : { httpGet: defaultHttpGet(httpGet) }),
    ...(grpc === undefined ? {} : { grpc: { ...grpc, service: grpc.service ?? "" } }),
  };
}

const defaultHttpGet = (action: HTTPGetAction): HTTPGetAction => ({
  ...action,
  path: action.path || "/",
  scheme: action.scheme || "HTTP",
});

function defaultLifecycle(lifecycle: Lifecycle): Lifecycle {
  const { postStart, preStop } = lifecycle;
  return {
    ...lifecycle,
    ...(postStart === undefined ? {} : { postStart: defaultHandler(postStart) }),
    ...(preStop === undefined ? {} : { preStop: defaultHandler(preStop) }),
  };
}

const defaultHandler = (handler: LifecycleHandler): LifecycleHandler =>
  handler.httpGet === undefined ? handler : { ...handler, httpGet: defaultHttpGet(handler.httpGet) };
