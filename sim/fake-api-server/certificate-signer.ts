/** The control plane's controllers that approve or deny CertificateSigningRequests and sign the approved ones. */
import type { CertificateSigningRequest } from "../../src/api/gen/certificates-v1.ts";
import { certificateSigningRequests } from "../../src/api/resources.ts";
import { CERTIFICATE_LABEL, pemText } from "../../src/domain/identity/pem.ts";
import { requestFacts } from "../../src/domain/identity/x509-read.ts";
import { certificateToSign, signed } from "../../src/domain/identity/x509-write.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { FakeKeys } from "../fake-keys.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { ADMIN } from "./identity.ts";
import { type Kind, kindOf } from "./kinds.ts";
import type { Change, Store } from "./store.ts";
import type { Writes } from "./writes.ts";

export interface SigningDecision {
  readonly verdict: "Approved" | "Denied";
  readonly afterMs: number;
}

export interface SigningOptions {
  readonly lifeMs: number;
  /** Undefined: the request stays undecided. */
  readonly decide: (request: CertificateSigningRequest) => SigningDecision | undefined;
}

const REQUESTS = kindOf(certificateSigningRequests);

export class CertificateSigner {
  readonly #options: SigningOptions;
  readonly #parts: { readonly store: Store; readonly writes: Writes; readonly clock: Clock };
  readonly #keys: FakeKeys;
  readonly #keyPem: string;
  #serial = 0;

  constructor(
    options: SigningOptions,
    parts: { readonly store: Store; readonly writes: Writes; readonly clock: Clock },
    random: SeededRandom,
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#keys = new FakeKeys(random);
    this.#keyPem = this.#keys.make();
  }

  heard(kind: Kind, { kind: what, object }: Change): void {
    if (kind !== REQUESTS || what !== "added") return;
    const decision = this.#options.decide(object as unknown as CertificateSigningRequest);
    if (decision === undefined) return;
    this.#parts.clock.after(decision.afterMs, () => this.decide(object.metadata.name, decision.verdict));
  }

  /** Decides a request now, as an administrator does manually. */
  decide(name: string, verdict: SigningDecision["verdict"]): void {
    const { store, writes } = this.#parts;
    const found = store.get(REQUESTS, `/${name}`) as unknown as CertificateSigningRequest | undefined;
    if (found === undefined) return;
    const conditions = [{ type: verdict, status: "True", reason: "Simulated", message: "by the simulator" }];
    const certificate = verdict === "Approved" ? { certificate: this.#sign(found) } : {};
    writes.update(REQUESTS, { ...found, status: { conditions, ...certificate } }, "status", ADMIN);
  }

  #sign({ spec }: CertificateSigningRequest): string {
    const facts = requestFacts(Buffer.from(spec.request, "base64").toString());
    if (facts === undefined) throw new Error("a request without a request");
    this.#serial += 1;
    const notBeforeWallMs = Math.floor(this.#parts.clock.wallMs() / 1000) * 1000;
    const toSign = certificateToSign(
      {
        ...facts,
        issuer: { commonName: "simulated-ca", organizations: [] },
        serial: Uint8Array.of(this.#serial >> 8, this.#serial & 255),
        notBeforeWallMs,
        notAfterWallMs: notBeforeWallMs + this.#options.lifeMs,
        authorityKeyId: Uint8Array.of(1),
        use: "server",
      },
      "ec",
    );
    const bytes = signed(toSign, "ec", this.#keys.sign(this.#keyPem, toSign));
    return Buffer.from(pemText({ label: CERTIFICATE_LABEL, bytes })).toString("base64");
  }
}
