/** Compares the requests that an agent sends to the runtime, message by message and field by field. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import type { Pod, PodSpec } from "../../../src/api/gen/core-v1.ts";
import type { CreateContainerRequest, RunPodSandboxRequest } from "../../../src/wire/cri/gen/api_pb.js";
import type { CriProxy } from "../../cluster/cri-proxy.ts";
import type { Recording } from "../../golden/recording.ts";
import { NODES, SIDES, type Side } from "../../golden/sides.ts";
import { BUSYBOX, type ClusterPods, podOn, SLEEPER, sh } from "../../support/cluster-pods.ts";
import { answered, podUidOfCall } from "../../support/cri-log.ts";
import { neutralStatus } from "../../support/normal-form.ts";
import { messagesOf, neutralMessage } from "../../support/runtime-messages.ts";

interface World {
  readonly recording: Recording;
  readonly pods: () => ClusterPods;
  readonly proxy: (side: Side) => CriProxy;
}

const METADATA = {
  labels: { app: "web", "example.com/tier": "front" },
  annotations: { "example.com/note": "two\nlines", empty: "" },
};

const SPECS = {
  plain: { containers: [SLEEPER] },
  rich: {
    terminationGracePeriodSeconds: 2,
    hostname: "chosen",
    subdomain: "sub",
    dnsPolicy: "None",
    dnsConfig: {
      nameservers: ["198.19.0.9"],
      searches: ["a.test", "b.test"],
      options: [{ name: "ndots", value: "2" }],
    },
    securityContext: {
      runAsUser: 1000,
      runAsGroup: 2000,
      fsGroup: 3000,
      supplementalGroups: [4000, 5000],
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [
      {
        ...SLEEPER,
        args: ["one", "$$two"],
        workingDir: "/tmp",
        ports: [
          { containerPort: 80, hostPort: 8088, name: "web" },
          { containerPort: 53, protocol: "UDP" },
        ],
        resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { cpu: "100m", memory: "64Mi" } },
        terminationMessagePolicy: "FallbackToLogsOnError",
        terminationMessagePath: "/tmp/last",
      },
      {
        ...SLEEPER,
        name: "second",
        stdin: true,
        tty: true,
        securityContext: {
          runAsUser: 0,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { add: ["NET_ADMIN"], drop: ["KILL"] },
          seccompProfile: { type: "Unconfined" },
        },
      },
    ],
  },
  host: {
    hostNetwork: true,
    hostPID: true,
    hostIPC: true,
    dnsPolicy: "ClusterFirstWithHostNet",
    containers: [{ ...SLEEPER, securityContext: { privileged: true } }],
  },
  shared: { shareProcessNamespace: true, setHostnameAsFQDN: true, subdomain: "sub", containers: [SLEEPER] },
  pulled: { containers: [{ ...SLEEPER, imagePullPolicy: "Always", image: BUSYBOX }], dnsPolicy: "Default" },
} as const satisfies Record<string, unknown>;

export function runtimeRequests({ recording, pods, proxy }: World): void {
  const ran = new Map<string, Pod>();
  const nameOf = (kind: string, side: Side) => `told-${kind}-${NODES[side]}`;
  const podOf = (kind: string, side: Side) => ran.get(nameOf(kind, side)) ?? assert.fail(kind);

  const compare = async (method: string): Promise<number> => {
    let compared = 0;
    for (const kind of Object.keys(SPECS)) {
      await recording.check(`${kind}: ${method}`, (side) => {
        const messages = messagesOf(proxy(side), method, podOf(kind, side), NODES[side]);
        assert.ok(messages.length > 0, `${kind}: ${method}`);
        compared += messages.length;
        return messages;
      });
    }
    return compared;
  };

  void suite("requests that the runtime receives", () => {
    before(async () => {
      // A pull changes the image's entry in the runtime, so the pod with the pull starts once the others run.
      const kinds = Object.keys(SPECS) as (keyof typeof SPECS)[];
      for (const batch of [kinds.filter((kind) => kind !== "pulled"), ["pulled"] as const]) {
        const places = batch.flatMap((kind) => SIDES.map((side) => ({ kind, side, name: nameOf(kind, side) })));
        for (const { kind, side, name } of places) {
          const pod = podOn(NODES[side], name, SPECS[kind]);
          const metadata = kind === "plain" ? {} : METADATA;
          await pods().create({ ...pod, metadata: { ...pod.metadata, ...metadata } });
        }
        for (const { name } of places) ran.set(name, await pods().running(name, 120_000));
      }
    });

    test("[27.3.1][27.3.2][7.1] RunPodSandbox: name, labels, annotations, DNS, ports, namespaces, security", async (t) => {
      t.diagnostic(`${await compare("RunPodSandbox")} sandboxes compared`);
    });

    test("[27.3.3][27.3.4][27.3.5] CreateContainer: labels, annotations, metadata, command, security, resources", async (t) => {
      t.diagnostic(`${await compare("CreateContainer")} containers compared`);
    });

    test("[27.2.6][27.3.8] container hashes and cgroup parents equal the Go kubelet's", async () => {
      await recording.check("hashes and cgroup parents", (side) =>
        Object.fromEntries(
          Object.keys(SPECS).map((kind) => {
            const pod = podOf(kind, side);
            const requests = (method: string) => messagesOf(proxy(side), method, pod, NODES[side]);
            const hashes = (requests("CreateContainer") as readonly CreateContainerRequest[]).map(
              ({ config }) => config?.annotations["io.kubernetes.container.hash"],
            );
            const parents = (requests("RunPodSandbox") as readonly RunPodSandboxRequest[]).map(
              ({ config }) => config?.linux?.cgroupParent,
            );
            assert.ok(
              hashes.every((hash) => /^[0-9a-f]{1,8}$/.test(hash ?? "")),
              hashes.join(),
            );
            assert.ok(
              parents.every((parent) => parent?.startsWith("/<node>/kubepods/") === true),
              parents.join(),
            );
            return [kind, { hashes, parents }];
          }),
        ),
      );
    });

    test("[27.3.7][7.5] container logs are in the sandbox's log directory and named after the restart count", () => {
      for (const side of SIDES) for (const kind of Object.keys(SPECS)) checkLogs(podOf(kind, side), side);
    });

    function checkLogs({ metadata }: Pod, side: Side): void {
      const directory = `/var/log/pods/default_${metadata?.name}_${metadata?.uid}`;
      const calls = answered(proxy(side).calls, "CreateContainer").filter(
        (call) => podUidOfCall(call) === metadata?.uid,
      );
      assert.ok(calls.length > 0, side);
      for (const call of calls) {
        const { config, sandboxConfig } = call.request as {
          readonly config: { readonly logPath: string; readonly metadata: { readonly name: string } };
          readonly sandboxConfig: { readonly logDirectory: string };
        };
        const path = `${sandboxConfig.logDirectory}/${config.logPath}`;
        assert.equal(path, `${directory}/${config.metadata.name}/0.log`, side);
      }
    }

    test("[27.3.6] PullImage requests equal the Go kubelet's", async () => {
      await recording.check("pulled: PullImage", (side) => {
        const pod = podOf("pulled", side);
        const pulls = answered(proxy(side).calls, "PullImage")
          .map(
            ({ request }) => request as { readonly sandboxConfig?: { readonly metadata?: { readonly uid: string } } },
          )
          .filter(({ sandboxConfig }) => sandboxConfig?.metadata?.uid === pod.metadata?.uid)
          .map((request) => neutralMessage(request, pod, NODES[side]));
        assert.equal(pulls.length, 1);
        return pulls;
      });
    });

    test("[7.17] termination messages are the same: the end of a long file, the end of a long log, and a share of the limit per container", async () => {
      const log = { terminationMessagePolicy: "FallbackToLogsOnError" };
      const containers = [
        sh("seq 2000 > /dev/termination-log; exit 1", "long"),
        sh("echo enough > /dev/termination-log", "small"),
        {
          ...sh("seq 1000 1199 | sed 's|^|line |; s|$| of a log that is too long to be told|'; exit 1", "log"),
          ...log,
        },
        { ...sh("echo fine", "quiet"), ...log },
      ];
      const messages = (kind: string, side: Side) => messagesAtEnd(nameOf(kind, side));
      for (const side of SIDES) {
        const create = (kind: string, spec: Partial<PodSpec>) =>
          pods().create(podOn(NODES[side], nameOf(kind, side), { restartPolicy: "Never", ...spec }));
        await create("words", { containers });
        await create("alone", { containers: containers.slice(0, 1) });
      }
      await recording.check("words: termination messages", async (side) => {
        const many = await messages("words", side);
        assert.deepEqual([many.get("small"), many.get("quiet")], ["enough\n", undefined]);
        assert.equal(many.get("long")?.length, 3072);
        assert.equal(many.get("log")?.length, 2048);
        return many;
      });
      await recording.check("alone: termination messages", async (side) => {
        const alone = await messages("alone", side);
        assert.equal(alone.get("long")?.length, 4096);
        assert.ok(alone.get("long")?.endsWith("1999\n2000\n"));
        return alone;
      });
    });

    /** By container name. */
    async function messagesAtEnd(name: string): Promise<ReadonlyMap<string, string | undefined>> {
      const ended = ({ status }: Pod) => status?.phase === "Succeeded" || status?.phase === "Failed";
      const { status } = await pods().first(name, "ended", ended);
      return new Map((status?.containerStatuses ?? []).map((one) => [one.name, one.state?.terminated?.message]));
    }

    test("[7.25][11.8][11.9] status of running pods equals the Go kubelet's", async () => {
      for (const kind of Object.keys(SPECS)) {
        await recording.check(`${kind}: status`, (side) => neutralStatus(podOf(kind, side)));
      }
    });
  });
}
