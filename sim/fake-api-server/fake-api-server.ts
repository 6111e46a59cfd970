/**
 * An in-memory kube-apiserver for the kinds that a kubelet uses. It passes the contract suite that the real one behind
 * `wire/kube-api` passes. One instance serves all nodes of a world.
 */
import { namespaces, pods, serviceAccounts } from "../../src/api/resources.ts";
import { ApiUnreachableError } from "../../src/ports/api-error.ts";
import type { ApiServer } from "../../src/ports/api-server.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Life } from "../port-calls.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { ApiParts } from "./api-parts.ts";
import { apiPort } from "./api-port.ts";
import { CertificateSigner, type SigningOptions } from "./certificate-signer.ts";
import { ADMIN, type Identity } from "./identity.ts";
import { kindOf } from "./kinds.ts";
import { Lists } from "./lists.ts";
import { Questions } from "./questions.ts";
import { Store } from "./store.ts";
import { Watches, type WatchTimes } from "./watches.ts";
import { Writes } from "./writes.ts";

export interface FakeApiServerOptions {
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly watchTimes?: Partial<WatchTimes>;
}

/** The real client requests watches of five to ten minutes. */
const WATCH_TIMES: WatchTimes = { bookmarkEveryMs: 60_000, endAfterMs: { min: 300_000, max: 600_000 } };
const FIRST_NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

export class FakeApiServer {
  readonly #parts: ApiParts;
  readonly #clock: Clock;
  readonly #awayFor = new Set<string>();
  readonly #random: SeededRandom;
  #isAway = false;
  #signer: CertificateSigner | undefined;

  constructor({ clock, random, watchTimes }: FakeApiServerOptions) {
    this.#clock = clock;
    this.#random = random;
    const watches = new Watches(clock, random.split("watches"), { ...WATCH_TIMES, ...watchTimes });
    const store = new Store((kind, change) => {
      watches.tell(kind, change);
      this.#signer?.heard(kind, change);
    });
    const writes = new Writes(store, clock, random.split("writes"));
    this.#parts = {
      store,
      watches,
      writes,
      lists: new Lists(store, random.split("lists")),
      questions: new Questions(store, writes, clock, random.split("questions")),
      reach: (operation, who) => {
        if (this.#isAway || this.#awayFor.has(who))
          throw new ApiUnreachableError(operation, "connect ECONNREFUSED", false);
      },
    };
    for (const name of FIRST_NAMESPACES) {
      writes.create(kindOf(namespaces), { metadata: { name } }, ADMIN);
      writes.create(kindOf(serviceAccounts), { metadata: { namespace: name, name: "default" } }, ADMIN);
    }
  }

  connect(life: Life, identity: Identity = ADMIN, options: { readonly requestLimitMs?: number } = {}): ApiServer {
    return apiPort(this.#parts, life, identity, options.requestLimitMs);
  }

  /** The stored objects, for oracles and scenarios. Access makes no port calls and no clock events. */
  get store(): Store {
    return this.#parts.store;
  }

  /** Writes by the world itself, for example by a user. */
  get writes(): Writes {
    return this.#parts.writes;
  }

  /** The server's wall clock. */
  wallMs(): number {
    return this.#clock.wallMs();
  }

  /** Caps the lifetime of issued tokens, whatever a TokenRequest says. */
  set tokenSecondsMax(seconds: number) {
    this.#parts.questions.tokenSecondsMax = seconds;
  }

  /** From now on CertificateSigningRequests are decided according to the options. */
  signCertificates(options: SigningOptions): CertificateSigner {
    this.#signer = new CertificateSigner(
      options,
      { ...this.#parts, clock: this.#clock },
      this.#random.split("authority"),
    );
    return this.#signer;
  }

  get watchCount(): number {
    return this.#parts.watches.count;
  }

  /** Since when the node's agent has a watch open on its pods; undefined: it has none. */
  podsWatchedSinceMs(nodeName: string): number | undefined {
    return this.#parts.watches.openSinceMs(kindOf(pods), nodeName);
  }

  /** Makes the server unreachable, for one agent or for all: calls fail, and open watches break. */
  leave(who?: string): void {
    if (who === undefined) this.#isAway = true;
    else this.#awayFor.add(who);
    this.breakWatches(who);
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  comeBack(who?: string): void {
    if (who === undefined) this.#isAway = false;
    else this.#awayFor.delete(who);
  }

  breakWatches(who?: string): void {
    this.#parts.watches.breakAll(() => new ApiUnreachableError("WATCH", "the connection broke", true), who);
  }

  /** Forgets the change history: watches cannot resume from earlier versions, and list continue tokens expire. */
  forgetHistory(): void {
    this.#parts.store.forgetChanges();
    this.#parts.lists.expireTokens();
  }
}
