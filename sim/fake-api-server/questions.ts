/** Requests that are answered but not stored: tokens, reviews and evictions. */
import type { TokenRequest, TokenReview } from "../../src/api/gen/authentication-v1.ts";
import type { SubjectAccessReview } from "../../src/api/gen/authorization-v1.ts";
import type { Eviction } from "../../src/api/gen/policy-v1.ts";
import { pods, serviceAccounts } from "../../src/api/resources.ts";
import type { JsonObject } from "../../src/base/json-equal.ts";
import type { ApiObject, ObjectName } from "../../src/ports/api-server.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Random } from "../../src/ports/random.ts";
import type { Identity } from "./identity.ts";
import { fieldAt, type Kind, kindOf } from "./kinds.ts";
import { asPod, timestamp } from "./pods.ts";
import { forbidden, invalid, Refusal } from "./refusal.ts";
import type { Store } from "./store.ts";
import type { Draft, Stored } from "./stored.ts";
import type { Writes } from "./writes.ts";

const TOKEN_SECONDS_MIN = 600;
const TOKEN_SECONDS = 3600;

interface IssuedToken {
  readonly username: string;
  readonly groups: readonly string[];
  readonly endWallMs: number;
}

export class Questions {
  readonly #store: Store;
  readonly #writes: Writes;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #tokens = new Map<string, IssuedToken>();
  tokenSecondsMax = Number.POSITIVE_INFINITY;

  constructor(store: Store, writes: Writes, clock: Clock, random: Random) {
    this.#store = store;
    this.#writes = writes;
    this.#clock = clock;
    this.#random = random;
  }

  /** Answers the creation of a review; undefined for all other kinds. */
  review(kind: Kind, object: unknown): JsonObject | undefined {
    if (kind.key === "authentication.k8s.io/tokenreviews") return this.#tokenReview(object as Draft);
    if (kind.key === "authorization.k8s.io/subjectaccessreviews") return accessReview(object as Draft);
    return undefined;
  }

  token({ namespace = "", name }: ObjectName, question: ApiObject, who: Identity): TokenRequest {
    const request = question as TokenRequest;
    this.#writes.find(kindOf(serviceAccounts), namespace, name, undefined);
    if (who.kind === "node") this.#checkTokenOwner(who.name, namespace, name, request);
    const asked = request.spec?.expirationSeconds ?? TOKEN_SECONDS;
    if (asked < TOKEN_SECONDS_MIN)
      throw invalid(
        `TokenRequest "${name}"`,
        "spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes",
      );
    const seconds = Math.min(asked, this.tokenSecondsMax);
    const endWallMs = this.#clock.wallMs() + seconds * 1000;
    const username = `system:serviceaccount:${namespace}:${name}`;
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const token = [
      part({ alg: "none" }),
      part({ sub: username, exp: Math.trunc(endWallMs / 1000) }),
      this.#random.uuid(),
    ].join(".");
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    this.#tokens.set(token, { username, groups, endWallMs });
    const spec = { ...request.spec, expirationSeconds: seconds };
    return { ...request, spec, status: { token, expirationTimestamp: timestamp(endWallMs) } };
  }

  /** A node may request tokens for its own pods only. */
  #checkTokenOwner(node: string, namespace: string, account: string, { spec }: TokenRequest): void {
    const ref = spec?.boundObjectRef;
    const pod = ref?.kind === "Pod" ? this.#store.get(kindOf(pods), `${namespace}/${ref.name ?? ""}`) : undefined;
    const isOwn = pod !== undefined && fieldAt(pod, "spec.nodeName") === node && pod.metadata.uid === ref?.uid;
    if (!isOwn || fieldAt(pod, "spec.serviceAccountName") !== account)
      throw forbidden(`node "${node}" can only request tokens bound to its own pods`);
  }

  evict({ namespace = "", name }: ObjectName, question: ApiObject, who: Identity): JsonObject {
    const kind = kindOf(pods);
    const target = { namespace, name };
    const pod = this.#writes.find(kind, namespace, name, undefined);
    const { phase } = asPod(pod).status ?? {};
    const isCounted = phase === "Running" && pod.metadata.deletionTimestamp === undefined;
    if (isCounted) this.#checkBudgets(pod);
    const options = (question as Eviction).deleteOptions ?? {};
    const { gracePeriodSeconds, preconditions } = options;
    this.#writes.delete(
      kind,
      target,
      {
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(preconditions !== undefined && { preconditions }),
      },
      who,
    );
    return { apiVersion: "v1", kind: "Status", status: "Success", code: 201 };
  }

  #checkBudgets(pod: Stored): void {
    const budgets = kindOf({
      group: "policy",
      version: "v1",
      kind: "",
      plural: "poddisruptionbudgets",
      namespaced: true,
    });
    for (const budget of this.#store.values(budgets)) {
      if (budget.metadata.namespace !== pod.metadata.namespace) continue;
      const selector = budget.spec?.["selector"] as
        | { readonly matchLabels?: Readonly<Record<string, string>> }
        | undefined;
      const isSelected = Object.entries(selector?.matchLabels ?? {}).every(
        ([key, value]) => pod.metadata.labels?.[key] === value,
      );
      if (isSelected && Number(budget.status?.["disruptionsAllowed"] ?? 0) <= 0)
        throw new Refusal(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.");
    }
  }

  #tokenReview(review: Draft): JsonObject {
    const token = (review as unknown as TokenReview).spec.token;
    const issued = this.#tokens.get(token);
    const isGood = issued !== undefined && issued.endWallMs > this.#clock.wallMs();
    const status = isGood
      ? { authenticated: true, user: { username: issued.username, groups: issued.groups } }
      : { authenticated: false, error: "invalid bearer token" };
    return { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", ...review, status };
  }
}

/** Allows administrators everything and all others nothing. A test that needs more adds a rule here. */
function accessReview(review: Draft): JsonObject {
  const { spec } = review as unknown as SubjectAccessReview;
  if (spec.resourceAttributes === undefined && spec.nonResourceAttributes === undefined)
    throw invalid(
      "SubjectAccessReview",
      "spec.resourceAttributes: exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
  const allowed = spec.groups?.includes("system:masters") ?? false;
  return { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", ...review, status: { allowed } };
}
