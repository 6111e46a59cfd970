/** Pods of the simulator, from short descriptions. Their containers do what their commands say. */
import type { Container, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { type Behaviour, scripted } from "../fake-runtime/behaviour.ts";

export const endsAfter = (afterMs: number): Behaviour => ({ onSignal: { SIGTERM: { afterMs, code: 0 } } });
export const SERVER: Behaviour = endsAfter(300);
export const exits = (afterMs: number, code: number): Behaviour => ({ exit: { afterMs, code }, ...SERVER });

/** Uses an image that the node has, unless `more` says otherwise. */
export const container = (name: string, behaviour: Behaviour = SERVER, more: Partial<Container> = {}): Container => ({
  name,
  image: "busybox",
  imagePullPolicy: "IfNotPresent",
  command: [...scripted(behaviour)],
  ...more,
});

export const sidecar = (name: string, behaviour: Behaviour = SERVER, more: Partial<Container> = {}): Container =>
  container(name, behaviour, { restartPolicy: "Always", ...more });

export const execHook = (behaviour: Behaviour) => ({ exec: { command: [...scripted(behaviour)] } });

/** The only main container of a pod. */
export const app = (behaviour: Behaviour, more: Partial<Container> = {}): Pick<PodSpec, "containers"> => ({
  containers: [container("app", behaviour, more)],
});

/** On node n1, with one server, unless `spec` says otherwise. */
export const pod = (name: string, spec: Partial<PodSpec> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", labels: { app: name } },
  spec: {
    nodeName: "n1",
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    ...app(SERVER),
    ...spec,
  },
});

/** The pod as a manifest describes it: without a node name. */
export function manifestOf({ apiVersion, kind, metadata, spec }: Pod): Pod {
  const { nodeName: _, ...rest } = spec ?? { containers: [] };
  return { ...(apiVersion && { apiVersion }), ...(kind && { kind }), ...(metadata && { metadata }), spec: rest };
}
