/** The pods whose logs are read: the same pods with the same names on each node. */
import { BUSYBOX_IMAGE } from "../../cluster/images.ts";
import { STAY } from "../../support/cluster-pods.ts";

interface LogPod {
  readonly name: string;
  readonly containers: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly more?: object;
  /** Volumes by name, each mounted at `/<name>`. */
  readonly mounts?: Readonly<Record<string, object>>;
}

const PODS: readonly LogPod[] = [
  {
    name: "talk",
    containers: {
      // Each write is separate, so that both runtimes split the streams alike.
      app: `echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three; ${STAY}`,
      side: `seq 1 500; ${STAY}`,
    },
  },
  {
    name: "bytes",
    containers: { app: `head -c 50000 /dev/zero | tr '\\0' x; printf '\\n\\377\\376 odd\\n\\n'; ${STAY}` },
  },
  {
    name: "again",
    containers: { app: `if mkdir /kept/first; then echo first; exit 3; fi 2>/dev/null; echo second; ${STAY}` },
    mounts: { kept: { emptyDir: {} } },
  },
  { name: "done", containers: { app: "echo done; printf 'no end'" }, more: { restartPolicy: "Never" } },
  { name: "silent", containers: { app: STAY } },
  { name: "unpulled", containers: { app: "true" }, image: "registry.k8s.io/deckhand/there-is-no-such:1" },
  { name: "creating", containers: { app: "true" }, mounts: { never: { configMap: { name: "there-is-no-such" } } } },
];

export const logPods = (nodeName: string): readonly object[] =>
  PODS.map(({ name, containers, image = BUSYBOX_IMAGE, more = {}, mounts = {} }) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { reads: "logs" } },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: Object.entries(containers).map(([container, script]) => ({
        name: container,
        image,
        command: ["sh", "-c", script],
        volumeMounts: Object.keys(mounts).map((volume) => ({ name: volume, mountPath: `/${volume}` })),
      })),
      volumes: Object.entries(mounts).map(([volume, source]) => ({ name: volume, ...source })),
      ...more,
    },
  }));

/** A loud pod that waits goes on once this file exists: a follower reads its log. */
export const HEARD = "/tmp/heard";

/**
 * Writes numbered lines of about a thousand bytes, `perTurn` at a time with pauses in between. With `waitsToBeHeard` it
 * waits after the first turn until HEARD exists.
 */
export const loudPod = (
  name: string,
  nodeName: string,
  options: {
    readonly lines: number;
    readonly perTurn: number;
    readonly pauseMs?: number;
    readonly waitsToBeHeard?: boolean;
  },
) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    nodeName,
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "app",
        image: BUSYBOX_IMAGE,
        command: [
          "awk",
          "-v",
          `lines=${options.lines}`,
          "-v",
          `turn=${options.perTurn}`,
          "-v",
          `pause=${(options.pauseMs ?? 20) * 1_000}`,
          "-v",
          `heard=${options.waitsToBeHeard === true ? HEARD : ""}`,
          LOUD,
        ],
      },
    ],
  },
});

const LOUD = `BEGIN {
  pad = sprintf("%985s", ""); gsub(" ", "x", pad)
  for (i = 1; i <= lines; i++) {
    printf "%d %s\\n", i, pad
    if (i % turn == 0) do { fflush(); system("usleep " pause) } while (i == turn && heard != "" && system("test -e " heard) != 0)
  }
}`;

/** Writes such lines forever, with random bytes that do not shrink when they are compressed. */
export const loudPodOfNoise = (
  name: string,
  nodeName: string,
  options: { readonly perTurn: number; readonly pauseMs: number },
) => {
  const { spec, ...pod } = loudPod(name, nodeName, { lines: 0, perTurn: 1 });
  const print = `{ print NR, $0; if (NR % ${options.perTurn} == 0) { fflush(); system("usleep ${options.pauseMs * 1_000}") } }`;
  const script = `tr -dc a-zA-Z0-9 < /dev/urandom | fold -w 985 | awk '${print}'`;
  const containers = spec.containers.map((container) => ({ ...container, command: ["sh", "-c", script] }));
  return { ...pod, spec: { ...spec, containers } };
};
