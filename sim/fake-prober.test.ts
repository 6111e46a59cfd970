import { type Echo, type ProberWorld, proberContract } from "../test/contract/prober-contract.ts";
import { FakeProber, type FakeReply, type FakeServer } from "./fake-prober.ts";
import { VirtualClock } from "./virtual-clock.ts";

const PORTS = { http: 8080, https: 8443, grpc: 9090, noHealth: 9091, nobody: 1 } as const;
const HOST = "198.18.0.5";

const reported = (status: number, location?: string): FakeReply => ({
  kind: "answer",
  status,
  body: "told",
  ...(location === undefined ? {} : { location }),
});

const page: FakeServer["http"] = ({ target, headers }) => {
  const [, status] = /^\/status\/(\d+)$/.exec(target) ?? [];
  if (status !== undefined) return reported(Number(status));
  const echo: Echo = { method: "GET", target, headers: headers.map(([name, value]) => [name.toLowerCase(), value]) };
  const pages: Readonly<Record<string, FakeReply>> = {
    "/echo": { kind: "answer", status: 200, body: JSON.stringify(echo) },
    "/large": { kind: "answer", status: 200, body: "x".repeat(20_000) },
    "/moved": reported(302, "/echo"),
    "/circle": reported(302, "/circle"),
    "/away": reported(302, "http://other.example/"),
    "/slow": { kind: "silent" },
    "/half": { kind: "half", status: 200 },
    "/closed": { kind: "closed" },
  };
  return pages[target.replace(/\?.*$/, "")] ?? reported(404);
};

const health: FakeServer["grpc"] = (service, userAgent) => {
  if (service === "silent") return { kind: "silent" };
  if (service === "sick") return { kind: "status", status: "NOT_SERVING" };
  const isKnown = ["", "well"].includes(service) || (service === "agent" && userAgent === "kube-probe/1.36");
  return isKnown ? { kind: "status", status: "SERVING" } : { kind: "refused", code: 5, message: "unknown service" };
};

const noHealth: FakeServer["grpc"] = () => ({
  kind: "refused",
  code: 12,
  message: "unknown service grpc.health.v1.Health",
});

proberContract("the fake prober", () => {
  const clock = new VirtualClock();
  const servers = new Map<number, FakeServer>([
    [PORTS.http, { http: page, grpc: noHealth }],
    [PORTS.https, { scheme: "https", http: page, grpc: noHealth }],
    [PORTS.grpc, { http: page, grpc: health }],
    [PORTS.noHealth, { http: page, grpc: noHealth }],
  ]);
  const prober = new FakeProber(clock, ({ host, port }) => (host === HOST ? servers.get(port) : undefined));
  const world: ProberWorld = {
    prober,
    host: HOST,
    ports: PORTS,
    pass: (ms) => clock.advance(ms),
    close: () => Promise.resolve(),
  };
  return Promise.resolve(world);
});
