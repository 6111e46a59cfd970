/**
 * A world in which a node bootstraps with a token. A simulated control plane decides on the node's certificate requests
 * and signs them. A server that is shown an expired certificate, or none, returns 401. The agent is the production
 * code, with all its loops or only those of its certificates.
 */
import type { CertificateSigningRequest } from "../src/api/gen/certificates-v1.ts";
import { certificateSigningRequests } from "../src/api/resources.ts";
import { compose } from "../src/app/compose.ts";
import { clientCertificateLoops, servingLoops } from "../src/app/compose-identity.ts";
import type { Cells, KubeletPorts, Loop } from "../src/app/wiring.ts";
import { LatestCell } from "../src/concurrency/latest-cell.ts";
import type { CertificatePair } from "../src/domain/identity/certificate-pair.ts";
import { validPair } from "../src/domain/identity/certificate-state.ts";
import { ApiError } from "../src/ports/api-error.ts";
import type { ApiServer } from "../src/ports/api-server.ts";
import type { CertificateSigner, SigningOptions } from "./fake-api-server/certificate-signer.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { kubeletOptions } from "./kubelet.ts";
import type { Agent, AgentFactory, SimNode } from "./sim-node.ts";
import { World, type WorldOptions } from "./world.ts";

export const CLIENT = "kubernetes.io/kube-apiserver-client-kubelet";
export const SERVING = "kubernetes.io/kubelet-serving";
export const PKI = "/var/lib/kubelet/pki";

export interface IdentityWorldOptions extends Partial<WorldOptions>, SigningOptions {
  /** Runs the whole kubelet, or only the loops of its certificates. */
  readonly whole?: boolean;
  /** Additional command-line flags. */
  readonly flags?: readonly string[];
  /** Replaces the agent's ports. */
  readonly change?: (ports: KubeletPorts) => KubeletPorts;
}

interface Shown {
  readonly atMs: number;
  readonly pair: CertificatePair;
}

export class IdentityWorld {
  readonly world: World;
  readonly node: SimNode;
  readonly signer: CertificateSigner;
  /** Every client certificate that any life of the agent presented. */
  readonly shown: Shown[] = [];
  /** Whether the bootstrap token is still valid. */
  tokenIsGood = true;
  /** Cells of the agent that was started last. */
  cells: Cells | undefined;
  #addresses: readonly string[] = ["198.18.0.5"];
  readonly agent: AgentFactory;

  constructor({ lifeMs, decide, whole = false, flags = [], change, ...options }: IdentityWorldOptions) {
    this.world = new World({
      seed: 1,
      latencyMs: (_call, random) => 1 + Math.floor(random.fraction() * 4),
      onCrash: (node) => void this.world.clock.after(700, () => node.start(this.agent)),
      ...options,
    });
    this.node = this.world.addNode("n1");
    this.signer = this.world.api.signCertificates({ lifeMs, decide });
    this.agent = (ports) => this.#agentOf(change?.(ports) ?? ports, whole, flags);
    this.node.start(this.agent);
  }

  /** Changes the node's addresses. */
  moveTo(...addresses: readonly string[]): void {
    this.#addresses = addresses;
    this.#tellAddresses();
  }

  requests(signer: string): readonly CertificateSigningRequest[] {
    return [...this.world.api.store.values(kindOf(certificateSigningRequests))]
      .map((stored) => stored as unknown as CertificateSigningRequest)
      .filter(({ spec }) => spec.signerName === signer);
  }

  undecided(signer: string): readonly CertificateSigningRequest[] {
    return this.requests(signer).filter(({ status }) => (status?.conditions ?? []).length === 0);
  }

  /** Whether the certificate that the running agent's clients present is valid now by the server's clock. */
  get isKnown(): boolean {
    const pair = this.shown.at(-1)?.pair;
    return validPair({ pair }, this.world.api.wallMs()) !== undefined;
  }

  #tellAddresses(): void {
    const addresses = [
      { type: "Hostname", address: "n1" },
      ...this.#addresses.map((address) => ({ type: "InternalIP", address })),
    ];
    this.cells?.ownNode.set({ kind: "present", node: { metadata: { name: "n1" }, status: { addresses } } });
  }

  #agentOf(ports: KubeletPorts, whole: boolean, flags: readonly string[]): Agent {
    const { api } = ports;
    if (api === undefined) throw new Error("a node without an API server");
    const pair = new LatestCell<CertificatePair | undefined>(undefined);
    const isKnown = async (signal: AbortSignal) => {
      // As in the real client, requests made before a certificate exists wait for it.
      while (pair.value === undefined) await pair.changed(pair.version, signal);
      return this.world.api.isAway || validPair({ pair: pair.value }, this.world.api.wallMs()) !== undefined;
    };
    const byCertificate = (client: ApiServer) => guarded(client, isKnown);
    const show = (next: CertificatePair) => {
      pair.set(next);
      this.shown.push({ atMs: this.world.clock.monotonicMs(), pair: next });
    };
    const bootstrap = guarded(api.events, async () => this.tokenIsGood || this.world.api.isAway);
    const credentials = { bootstrap, embedded: undefined, certificateFiles: undefined, show };
    const clients = {
      main: byCertificate(api.main),
      heartbeats: byCertificate(api.heartbeats),
      events: byCertificate(api.events),
    };
    const all: KubeletPorts = { ...ports, api: { ...api, ...clients, credentials } };
    const options = kubeletOptions("n1", "--rotate-certificates", "--rotate-server-certificates", ...flags);
    const kubelet = compose(all, options);
    this.cells = kubelet.cells;
    const wiring = { ports: all, options, cells: kubelet.cells };
    const serving = servingLoops(wiring, () => undefined);
    const own: Loop = (shutdown) => kubelet.run(shutdown);
    if (whole) return { run: (shutdown) => runLoops([own, ...serving], shutdown) };
    this.#tellAddresses();
    return { run: (shutdown) => runLoops([...clientCertificateLoops(wiring), ...serving], shutdown) };
  }
}

/** As in the real process, the first loop that fails ends the agent. */
const runLoops = async (loops: readonly Loop[], shutdown: AbortSignal): Promise<void> => {
  await Promise.all(loops.map((loop) => loop(shutdown)));
};

/** Returns 401 as long as the server does not recognize the caller. */
function guarded(api: ApiServer, isKnown: (signal: AbortSignal) => Promise<boolean>): ApiServer {
  return new Proxy(api, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function" || key === "renewConnections") return member;
      const call = member.bind(target) as (...args: readonly unknown[]) => unknown;
      const refusal = () => new ApiError(String(key), 401, "Unauthorized", "Unauthorized");
      if (key === "watch") {
        return async function* (...args: readonly unknown[]) {
          if (!(await isKnown(signalOf(args)))) throw refusal();
          yield* call(...args) as AsyncIterable<unknown>;
        };
      }
      return async (...args: readonly unknown[]) => {
        if (!(await isKnown(signalOf(args)))) throw refusal();
        return call(...args);
      };
    },
  });
}

const signalOf = (args: readonly unknown[]): AbortSignal =>
  args.find((each) => each instanceof AbortSignal) ?? new AbortController().signal;
