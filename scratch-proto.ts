import { readFile } from "node:fs/promises";
import { startCluster } from "./test/cluster/cluster.ts";
import { connectCri } from "./src/wire/cri/client.ts";
import { createKubeApi } from "./src/wire/kube-api/client.ts";
import { hostClock } from "./src/wire/host/clock.ts";
import { hostRandom } from "./src/wire/host/random.ts";
import { createHostFiles } from "./src/wire/host/files.ts";
import { createCgroups } from "./src/wire/cgroupfs/cgroups.ts";
import { parseHierarchies } from "./src/wire/cgroupfs/hierarchies.ts";
import { hostTree } from "./src/wire/cgroupfs/tree.ts";
import { LatestCell } from "./src/concurrency/latest-cell.ts";
import { LatestTable } from "./src/concurrency/latest-table.ts";
import { startInformer } from "./src/concurrency/informer.ts";
import { pods } from "./src/api/resources.ts";
import { Observer } from "./src/controllers/pleg/observer.ts";
import { Pleg } from "./src/controllers/pleg/pleg.ts";
import { watchRuntimeHealth } from "./src/controllers/pleg/runtime-health.ts";
import { SyncLoop } from "./src/controllers/sync-loop/sync-loop.ts";
import { PodWorkers } from "./src/controllers/pod-workers/pod-workers.ts";
import { StatusPublisher } from "./src/controllers/status/status.ts";
import { collectContainers } from "./src/controllers/housekeeping/container-gc.ts";
import { createJournal } from "./src/controllers/journal/journal.ts";
import { foldFacts } from "./src/domain/journal/facts.ts";
import { podResourcePlan } from "./src/domain/resources/pod-resource-plan.ts";
import { podQosClass } from "./src/domain/resources/qos-class.ts";
import { noPods } from "./src/domain/pod/desired-pod.ts";
import { RUNTIME_UNKNOWN } from "./src/domain/node/runtime-health.ts";

const t0 = Date.now();
const say = (m: string) => console.log(((Date.now() - t0) / 1000).toFixed(3), m);
const cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "none" }] });
const node = cluster.nodes[0]!;
const stop = new AbortController();
try {
  await import("node:fs/promises").then((f) => f.writeFile("/tmp/lead/node.json", JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } })));
  await cluster.kubectl("create", "-f", "/tmp/lead/node.json");
  const cert = await cluster.api.clientCertificate("system:node:n1", ["system:nodes"]);
  const clock = hostClock, random = hostRandom;
  const log = { info: (l: number, m: string, f?: object) => l < 1 && say(`I ${m} ${JSON.stringify(f)}`), error: (m: string, e: unknown, f?: object) => say(`E ${m} ${String(e)} ${JSON.stringify(f)}`) };
  const events = { emit: (s: any, t: string, r: string, m: string) => say(`EVENT ${s.name} ${t} ${r} ${m}`) };
  const cri = connectCri({ endpoint: node.criEndpoint, onMalformed: say }, clock);
  const api = createKubeApi({ clock, random, connection: { url: cluster.api.url, ca: await readFile(cluster.api.caFile, "utf8"), credentials: { kind: "certificate", certificatePem: await readFile(cert.certFile, "utf8"), keyPem: await readFile(cert.keyFile, "utf8") } as any } as any });
  const files = createHostFiles({} as any);
  const cgroups = createCgroups({ hierarchies: parseHierarchies(await readFile("/proc/self/mounts", "utf8")), root: node.cgroupParent.split("/").filter(Boolean), tree: hostTree, clock });
  const journal = createJournal({ files, folder: `${node.folder}/lib/kubelet/deckhand/journal`, clock, onProblem: (p) => say(JSON.stringify(p)) });
  const facts = foldFacts(await journal.replay());
  const runtimeHealth = new LatestCell<any>(RUNTIME_UNKNOWN);
  const podRuntimeStatus = new LatestTable<string, any>();
  const podOutcomes = new LatestTable<string, any>();
  const admittedPods = new LatestTable<string, any>();
  const desiredPods = new LatestCell<any>(noPods);
  const sourcesReady = new LatestCell<boolean>(false);
  const hostIps = new LatestCell<readonly string[]>([node.address]);
  const observer = new Observer({ runtime: cri.runtime, podRuntimeStatus, shutdown: stop.signal });
  const look = (u: string, s: AbortSignal) => observer.look(u, s);
  const pleg = new Pleg({ runtime: cri.runtime, observer, clock, random, log });
  const informer = startInformer({ api, resource: pods, selection: { fields: "spec.nodeName=n1" }, clock, random, onTrouble: (d: string) => say(d) }, stop.signal);
  const feed = async () => { let seen = -1; for (;;) { seen = await informer.store.changed(seen, stop.signal); const m = new Map(); for (const p of informer.store.value.objects.values()) m.set(p.metadata!.uid!, { uid: p.metadata!.uid!, source: "api", pod: p, given: p, firstSeenWallMs: Date.now() }); if (informer.store.value.synced) desiredPods.set({ pods: m, mirrors: new Map(), mirrorsSeen: true, sourcesReady: true }); } };
  const plan = podResourcePlan({ cpuCfsQuota: true, cpuCfsQuotaPeriodUs: 100000, podPidsLimit: -1n, hugepageSizes: [], cgroupVersion: 1, memoryCapacityBytes: 24n << 30n, singleProcessOomKill: true, swapLimits: false });
  const workers = new PodWorkers({ runtime: cri.runtime, images: cri.images, files, cgroups, journal, events, clock, random, log }, { admittedPods, sourcesReady, podRuntimeStatus, runtimeHealth, podOutcomes, look }, { rootDir: `${node.folder}/lib/kubelet`, podLogsDir: node.logsDir, containerLogLinks: `${node.folder}/log/pods`, clusterDns: [], clusterDomain: "cluster.local", hostResolver: async () => ({ servers: [], searches: [], options: [] }), seccompDefault: false, backoffCapMs: 300000, resources: plan }, facts);
  podOutcomes.watch((u)=>say(`outcome ${podOutcomes.get(u)?.pod?.metadata?.name} ${JSON.stringify(podOutcomes.get(u)?.lifecycle)}`));
  const realPatch=api.patch; (api as any).patch=async(...a:any[])=>{say('PATCH '+JSON.stringify(a[2].body).slice(0,300)); const r= await (realPatch as any)(...a); return r;}; const realDel=api.delete; (api as any).delete=async(...a:any[])=>{say('DELETE '+JSON.stringify(a[1])); return (realDel as any)(...a)};
  const loops = [
    pleg.run(stop.signal), watchRuntimeHealth({ runtime: cri.runtime, clock, log, runtimeHealth, lastListedMs: () => pleg.lastListedMs }, stop.signal),
    new SyncLoop({ journal, events, clock, log, desiredPods, podRuntimeStatus, admittedPods, sourcesReady, facts, turned: () => {} }).run(stop.signal),
    workers.run(stop.signal), feed().catch(() => {}),
    new StatusPublisher({ api, clock, random, log, admittedPods, desiredPods, podOutcomes, hostIps, qosClass: podQosClass, runtimeName: () => "containerd" }).run(stop.signal),
    collectContainers({ runtime: cri.runtime, files, clock, log, podRuntimeStatus, podOutcomes, admittedPods, sourcesReady, containerLogLinks: `${node.folder}/log/containers`, look }, stop.signal),
  ];
  const img = "registry.k8s.io/e2e-test-images/busybox:1.37.0-1";
  const mk = async (name: string, policy: string, cmd: string) => { await cluster.kubectl("run", name, `--image=${img}`, `--restart=${policy}`, `--overrides={"spec":{"nodeName":"n1","automountServiceAccountToken":false,"terminationGracePeriodSeconds":2}}`, "--command", "--", "sh", "-c", cmd); };
  await mk("a", "Always", "sleep 3600"); say("created a");
  await cluster.kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s").then(() => say("a ready"), (e) => say(String(e)));
  await mk("done", "Never", "echo bye > /dev/termination-log; exit 3");
  await mk("crash", "Always", "exit 1");
  await new Promise((r) => setTimeout(r, 3000));
  console.log(await cluster.kubectl("get", "pods", "-o", "wide"));
  console.log(await cluster.kubectl("get", "pod", "done", "-o", "jsonpath={.status}"));
  const d0 = Date.now(); await cluster.kubectl("delete", "pod", "a"); say(`deleted a in ${Date.now() - d0} ms`);
  await cluster.kubectl("delete", "pod", "done", "crash"); say("deleted rest");
  console.log(await cluster.kubectl("get", "pods", "-o", "wide"));
  await new Promise((r) => setTimeout(r, 1500));
  console.log((await node.run("ctr" , "version")).code, [...podRuntimeStatus.keys()], [...podOutcomes.keys()]);
  stop.abort(new Error("bye"));
  await Promise.race([Promise.all(loops), new Promise((r) => setTimeout(r, 3000, "stuck"))]).then((x) => say(`loops ended ${x === "stuck" ? "STUCK" : "ok"}`));
  await api.close(); cri.close();
} catch (e) { console.log("FAILED", e); } finally { stop.abort(); await cluster.down(); say("down"); }
process.exit(0);
