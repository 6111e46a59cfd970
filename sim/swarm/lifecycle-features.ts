/**
 * What the containers of a pod do besides running: init containers, sidecars, health reports, lifecycle hooks, restart
 * rules, a late RuntimeClass and ephemeral containers.
 */
import type { Container, LifecycleHandler, PodSpec, Probe } from "../../src/api/gen/core-v1.ts";
import { type Behaviour, HEALTH_COMMAND, HOOK_PATHS, scripted, scriptOf } from "../fake-runtime/behaviour.ts";
import { app, container, endsAfter, execHook, exits, pod, SERVER, sidecar } from "../workload/pod.ts";
import type { Draw } from "./draw.ts";
import type { PodPlan, Workload } from "./workload.ts";

/** A RuntimeClass that pods name before it is created. */
export const LATE_CLASS = "late";
const CRITICAL = 2_000_000_000;
/** The exit code after which a rule restarts the container. */
const RULED_CODE = 42;
/** No container stays unhealthy forever, nor becomes unhealthy when everything must have settled. */
const UNWELL_MS_MAX = 40_000;
const HANGS: Behaviour = { onSignal: {} };

interface Times extends Pick<Workload, "runtimeClasses"> {
  readonly activeMs: number;
}

/** Adds lifecycle features to a pod, which may change its expected end. */
export function withLifecycleFeatures(draw: Draw, plan: PodPlan, { activeMs, runtimeClasses }: Times): PodPlan {
  const parts = [
    ...(draw.chance(0.35) ? [withInitContainers] : []),
    ...(draw.chance(0.3) ? [withSidecars] : []),
    ...(draw.chance(0.35) ? [withProbes] : []),
    ...(draw.chance(0.3) ? [withHooks] : []),
    ...(draw.chance(0.1) ? [withRestartRules] : []),
    ...(runtimeClasses.length > 0 && draw.chance(0.4) ? [withLateRuntimeClass] : []),
    ...(draw.chance(0.15) ? [withEphemeralContainer] : []),
  ];
  return parts.reduce((made, part) => part(draw, made, activeMs), plan);
}

type Part = (draw: Draw, plan: PodPlan, activeMs: number) => PodPlan;

const changed = (plan: PodPlan, spec: Partial<PodSpec>, more: Partial<PodPlan> = {}): PodPlan => ({
  ...plan,
  pod: { ...plan.pod, spec: { containers: [], ...plan.pod.spec, ...spec } },
  ...more,
});

const withApp = (plan: PodPlan, more: Partial<Container>): PodPlan => {
  const [own, ...rest] = plan.pod.spec?.containers ?? [];
  return own === undefined ? plan : changed(plan, { containers: [{ ...own, ...more }, ...rest] });
};

const init = ({ pod: { spec } }: PodPlan): readonly Container[] => spec?.initContainers ?? [];

const withInitContainers: Part = (draw, plan, activeMs) => {
  const well = Array.from({ length: draw.whole(1, 3) }, (_, index) =>
    container(`init${index}`, exits(draw.whole(100, 3_000), 0)),
  );
  const kind = draw.whole(1, 10);
  const [first, ...rest] = well;
  if (kind <= 6 || first === undefined) return changed(plan, { initContainers: [...init(plan), ...well] });
  // This init container succeeds only from some time on, or never ends: the others wait.
  const exit = { afterMs: draw.whole(100, 2_000), code: 1, wellFromMs: draw.whole(0, activeMs / 2) };
  const slow = container(first.name, kind <= 8 ? { ...SERVER, exit } : HANGS);
  const isNever = plan.pod.spec?.restartPolicy === "Never";
  const end = kind > 8 ? ("waits" as const) : isNever ? ("yields" as const) : plan.end;
  return changed(
    plan,
    { initContainers: [...init(plan), slow, ...rest] },
    { end: plan.end === "waits" ? "waits" : end },
  );
};

const withSidecars: Part = (draw, plan) => {
  const crashing = exits(draw.whole(20_000, 90_000), 1);
  const behaviours = Array.from({ length: draw.whole(1, 2) }, () =>
    draw.pick<Behaviour>([SERVER, SERVER, endsAfter(900), {}, crashing]),
  );
  const sidecars = behaviours.map((behaviour, index) => {
    const preStop = draw.chance(0.3) ? { lifecycle: { preStop: execHook(exits(draw.whole(50, 1_500), 0)) } } : {};
    return sidecar(`side${index}`, behaviour, preStop);
  });
  const initContainers = draw.chance(0.5) ? [...sidecars, ...init(plan)] : [...init(plan), ...sidecars];
  const isReadyOften = !behaviours.includes(crashing) || plan.end !== "runs";
  return changed(plan, { initContainers }, isReadyOften ? {} : { end: "crashes" });
};

/**
 * The container is healthy, with an unhealthy period in some pods. With a liveness probe it becomes unhealthy for good
 * at some time.
 */
const withProbes: Part = (draw, plan) => {
  if (plan.end !== "runs") return plan;
  const [own] = plan.pod.spec?.containers ?? [];
  const dies = draw.chance(0.3);
  const wakesMs = draw.chance(0.4) ? draw.whole(1_000, 8_000) : 0;
  const unwellMs = draw.whole(wakesMs + 5_000, UNWELL_MS_MAX);
  const unwell = draw.pick([500, 503, "silent"] as const);
  const answers = [
    { fromMs: wakesMs, health: 200 },
    ...(dies || draw.chance(0.5) ? [{ fromMs: unwellMs, health: unwell }] : []),
    ...(dies ? [] : [{ fromMs: unwellMs + draw.whole(5_000, 20_000), health: 204 }]),
  ];
  const behaviour: Behaviour = { ...scriptOf(own?.command), answers };
  return {
    ...withApp(plan, {
      command: [...scripted(behaviour)],
      ...(wakesMs > 0 || draw.chance(0.3) ? { startupProbe: { ...drawProbe(draw), failureThreshold: 30 } } : {}),
      ...(dies ? { livenessProbe: drawProbe(draw) } : {}),
      ...(draw.chance(0.7) ? { readinessProbe: drawProbe(draw) } : {}),
    }),
    end: dies ? "crashes" : "runs",
  };
};

const drawProbe = (draw: Draw): Probe => ({
  ...draw.pick<Probe>([
    { httpGet: { path: "/", port: 80 } },
    { exec: { command: [...HEALTH_COMMAND] } },
    { grpc: { port: 80 } },
  ]),
  periodSeconds: draw.whole(1, 5),
  failureThreshold: draw.whole(1, 3),
  timeoutSeconds: draw.whole(1, 2),
});

const withHooks: Part = (draw, plan) => {
  if (plan.end === "ends") return plan;
  const [own] = plan.pod.spec?.containers ?? [];
  const listens = scriptOf(own?.command).answers?.[0]?.fromMs === 0;
  const ask = (name: string): LifecycleHandler => ({ httpGet: { path: `${HOOK_PATHS}${name}`, port: 80 } });
  const preStop = draw.pick<LifecycleHandler>([
    execHook(exits(draw.whole(50, 3_000), 0)),
    execHook(exits(draw.whole(50, 500), 1)),
    execHook(HANGS),
    listens ? ask("stop") : { sleep: { seconds: 1 } },
    { sleep: { seconds: draw.whole(1, 3) } },
  ]);
  const isFailing = draw.chance(0.1);
  const postStart = isFailing
    ? execHook(exits(200, 1))
    : draw.pick<LifecycleHandler>([
        execHook(exits(draw.whole(50, 2_500), 0)),
        listens ? ask("start") : { sleep: { seconds: 1 } },
        { sleep: { seconds: 1 } },
      ]);
  const has = draw.pick(["both", "preStop", "postStart"] as const);
  const lifecycle = { ...(has === "postStart" ? {} : { preStop }), ...(has === "preStop" ? {} : { postStart }) };
  const failsAlways = isFailing && has !== "preStop";
  return { ...withApp(plan, { lifecycle }), ...(failsAlways && plan.end === "runs" ? { end: "crashes" } : {}) };
};

/**
 * Under Never, the container restarts after these exit codes: its own, those of a killed container, and that of a
 * container whose postStart hook failed.
 */
const withRestartRules: Part = (draw, plan) => {
  if (plan.end !== "crashes" || plan.pod.spec?.containers[0]?.livenessProbe !== undefined) return plan;
  const behaviour = exits(draw.whole(2_000, 30_000), RULED_CODE);
  const rules = [{ action: "Restart", exitCodes: { operator: "In", values: [RULED_CODE, 137, 255, 143, 0] } }];
  const ruled = withApp(plan, {
    command: [...scripted(behaviour)],
    restartPolicy: "Never",
    restartPolicyRules: rules,
  });
  return changed(ruled, { restartPolicy: "Never" });
};

const withLateRuntimeClass: Part = (_draw, plan) => changed(plan, { runtimeClassName: LATE_CLASS });

const withEphemeralContainer: Part = (draw, plan, activeMs) => ({
  ...plan,
  actions: [
    {
      kind: "debugs",
      atMs: draw.whole(plan.createMs + 1_000, Math.max(plan.createMs + 2_000, activeMs - 5_000)),
      container: container("debug", draw.pick([exits(2_000, 0), SERVER])),
    },
  ],
});

/** Pods that take up most of the node, and a critical pod that is more important than they are. */
export function drawRivals(draw: Draw, activeMs: number): readonly PodPlan[] {
  const asksFor = (cpu: string, behaviour: Behaviour) => app(behaviour, { resources: { requests: { cpu } } });
  const atMs = (fromMs: number) => draw.whole(fromMs, activeMs / 2);
  const stays = { fate: { kind: "stays" }, actions: [] } as const;
  const victims = Array.from({ length: draw.whole(2, 3) }, (_, index): PodPlan => {
    const spec = { ...asksFor("1200m", draw.pick([SERVER, {}])), terminationGracePeriodSeconds: draw.whole(1, 8) };
    return { pod: pod(`victim${index}`, spec), createMs: atMs(1_500), ...stays, end: "yields" };
  });
  const critical = pod("critical", { ...asksFor("2", SERVER), priority: CRITICAL });
  return [...victims, { pod: critical, createMs: atMs(activeMs / 4), ...stays, end: "runs" }];
}
