/** What the runtime is told of the same pods by both agents, message by message and field by field. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import type { Pod, PodSpec } from "../../../src/api/gen/core-v1.ts";
import type { CriProxy } from "../../cluster/cri-proxy.ts";
import { BUSYBOX, type ClusterPods, podOn, SLEEPER, sh } from "../../support/cluster-pods.ts";
import { answered, podUidOfCall } from "../../support/cri-log.ts";
import { neutralStatus } from "../../support/normal-form.ts";
import { messagesOf, neutralMessage } from "../../support/runtime-messages.ts";

export interface Sides {
  readonly pods: ClusterPods;
  readonly go: { readonly node: string; readonly proxy: CriProxy };
  readonly deckhand: { readonly node: string; readonly proxy: CriProxy };
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

export function runtimeRequests(sides: () => Sides): void {
  const ran = new Map<string, Pod>();
  const nameOf = (kind: string, node: string) => `told-${kind}-${node}`;

  const told = (kind: string, method: string, side: "go" | "deckhand"): readonly unknown[] => {
    const { node, proxy } = sides()[side];
    return messagesOf(proxy, method, ran.get(nameOf(kind, node)) ?? assert.fail(kind), node);
  };

  const compare = (method: string): number => {
    let compared = 0;
    for (const kind of Object.keys(SPECS)) {
      const [go, ours] = [told(kind, method, "go"), told(kind, method, "deckhand")];
      assert.ok(go.length > 0, `${kind}: ${method}`);
      assert.deepEqual(ours, go, `${kind}: ${method}`);
      compared += go.length;
    }
    return compared;
  };

  void suite("what the runtime is told by both agents", () => {
    before(async () => {
      const { pods, go, deckhand } = sides();
      // A pull changes what the runtime says of the image, so it comes when the others run.
      const kinds = Object.keys(SPECS) as (keyof typeof SPECS)[];
      for (const batch of [kinds.filter((kind) => kind !== "pulled"), ["pulled"] as const]) {
        const places = batch.flatMap((kind) => [go, deckhand].map(({ node }) => ({ kind, node })));
        for (const { kind, node } of places) {
          const pod = podOn(node, nameOf(kind, node), SPECS[kind]);
          const metadata = kind === "plain" ? {} : METADATA;
          await pods.create({ ...pod, metadata: { ...pod.metadata, ...metadata } });
        }
        for (const { kind, node } of places) {
          ran.set(nameOf(kind, node), await pods.running(nameOf(kind, node), 120_000));
        }
      }
    });

    test("[27.3.1][27.3.2][7.1] of each sandbox: name, labels, annotations, DNS, ports, namespaces, security", (t) => {
      t.diagnostic(`${compare("RunPodSandbox")} sandboxes compared`);
    });

    test("[27.3.3][27.3.4][27.3.5] of each container: labels, annotations, metadata, command, security, resources", (t) => {
      t.diagnostic(`${compare("CreateContainer")} containers compared`);
    });

    test("[27.3.7][7.5] of each container's log: the folder of the sandbox and the number of the run", () => {
      for (const [name, pod] of ran) {
        const { node, proxy } = name.endsWith(sides().go.node) ? sides().go : sides().deckhand;
        const folder = `/var/log/pods/default_${name}_${pod.metadata?.uid}`;
        for (const call of answered(proxy.calls, "CreateContainer")) {
          if (podUidOfCall(call) !== pod.metadata?.uid) continue;
          const { config, sandboxConfig } = call.request as {
            readonly config: { readonly logPath: string; readonly metadata: { readonly name: string } };
            readonly sandboxConfig: { readonly logDirectory: string };
          };
          assert.equal(
            `${sandboxConfig.logDirectory}/${config.logPath}`,
            `${folder}/${config.metadata.name}/0.log`,
            node,
          );
        }
      }
    });

    test("[27.3.6] of each image that is asked for or pulled", () => {
      const { go, deckhand } = sides();
      const pulls = [go, deckhand].map(({ node, proxy }) => {
        const pod = ran.get(nameOf("pulled", node)) ?? assert.fail();
        return answered(proxy.calls, "PullImage")
          .map(
            ({ request }) => request as { readonly sandboxConfig?: { readonly metadata?: { readonly uid: string } } },
          )
          .filter(({ sandboxConfig }) => sandboxConfig?.metadata?.uid === pod.metadata?.uid)
          .map((request) => neutralMessage(request, pod, node));
      });
      assert.equal(pulls[0]?.length, 1);
      assert.deepEqual(pulls[1], pulls[0]);
    });

    test("[7.17] last words are the same: the end of a long file, the end of a long log, and a share for each of many", async () => {
      const { pods, go, deckhand } = sides();
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
      const words = async (name: string, spec: Partial<PodSpec>) => {
        const ends = [go, deckhand].map(async ({ node }) => {
          await pods.create(podOn(node, nameOf(name, node), { restartPolicy: "Never", ...spec }));
          const ended = ({ status }: Pod) => status?.phase === "Succeeded" || status?.phase === "Failed";
          const { status } = await pods.first(nameOf(name, node), "ended", ended);
          return status?.containerStatuses?.map((one) => [one.name, one.state?.terminated?.message]);
        });
        const [theirs, ours] = await Promise.all(ends);
        assert.deepEqual(ours, theirs);
        return new Map(ours as [string, string | undefined][]);
      };
      const many = await words("words", { containers });
      assert.deepEqual([many.get("small"), many.get("quiet")], ["enough\n", undefined]);
      assert.equal(many.get("long")?.length, 3072);
      assert.equal(many.get("log")?.length, 2048);
      const alone = await words("alone", { containers: containers.slice(0, 1) });
      assert.equal(alone.get("long")?.length, 4096);
      assert.ok(alone.get("long")?.endsWith("1999\n2000\n"));
    });

    test("[7.25][11.8][11.9] and both publish the same of pods that run", () => {
      const { go, deckhand } = sides();
      for (const kind of Object.keys(SPECS)) {
        const [theirs, ours] = [go, deckhand].map(({ node }) => ran.get(nameOf(kind, node)) ?? assert.fail());
        assert.ok(theirs !== undefined && ours !== undefined);
        assert.deepEqual(neutralStatus(ours), neutralStatus(theirs), kind);
      }
    });
  });
}
