/**
 * Authorizes requests with SubjectAccessReviews. The node subresources of the path are reviewed in turn until one is
 * allowed. Requests that access a container also need the verb "create". A review that fails denies the request.
 */
import { subjectAccessReviews } from "../api/resources.ts";
import { type Caller, type PathParts, subresourcesOf, verbsOf } from "../domain/server/node-request.ts";
import type { ApiServer } from "../ports/api-server.ts";
import { type AccessReviewCache, TooBusy } from "./access-review-cache.ts";
import { HttpError } from "./route.ts";

export type AuthorizationParts =
  | { readonly mode: "alwaysAllow" }
  | {
      readonly mode: "webhook";
      readonly api: Pick<ApiServer, "create">;
      readonly cache: AccessReviewCache<boolean>;
      readonly nodeName: string;
      readonly keepAllowedMs: number;
      readonly keepDeniedMs: number;
    };

export interface AccessAsked {
  readonly caller: Caller;
  readonly method: string;
  readonly path: PathParts;
}

/** Returns if the request is allowed; else throws the `HttpError` to answer with. */
export async function authorize(asked: AccessAsked, parts: AuthorizationParts, signal: AbortSignal): Promise<void> {
  if (parts.mode === "alwaysAllow") return;
  const { caller, method, path } = asked;
  for (const verb of verbsOf(method, path)) await authorizeVerb({ caller, verb, path }, parts, signal);
}

type Webhook = Extract<AuthorizationParts, { mode: "webhook" }>;

interface VerbAsked {
  readonly caller: Caller;
  readonly verb: string;
  readonly path: PathParts;
}

async function authorizeVerb({ caller, verb, path }: VerbAsked, parts: Webhook, signal: AbortSignal): Promise<void> {
  const subresources = subresourcesOf(path);
  for (const subresource of subresources) {
    if (await isAllowed(caller, { verb, subresource }, parts, signal)) return;
  }
  const names = subresources.join(" ");
  throw new HttpError(
    403,
    `Forbidden (user=${caller.name}, verb=${verb}, resource=nodes, subresource(s)=[${names}])\n`,
  );
}

async function isAllowed(
  caller: Caller,
  { verb, subresource }: { readonly verb: string; readonly subresource: string },
  { api, cache, nodeName, keepAllowedMs, keepDeniedMs }: Webhook,
  signal: AbortSignal,
): Promise<boolean> {
  const { name: user, uid, groups, extra } = caller;
  const resourceAttributes = { verb, version: "v1", resource: "nodes", subresource, name: nodeName };
  const spec = {
    user,
    groups: [...groups],
    ...(uid === "" ? {} : { uid }),
    extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
    resourceAttributes,
  };
  const put = async (reviewSignal: AbortSignal) => {
    const { status } = await api.create(subjectAccessReviews, { metadata: {}, spec }, reviewSignal);
    const answer = status?.allowed === true && status.denied !== true;
    return { answer, keepMs: answer ? keepAllowedMs : keepDeniedMs };
  };
  try {
    return await cache.ask(JSON.stringify(spec), put, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const what = `(user=${user}, verb=${verb}, resource=nodes, subresource=${subresource})`;
    throw new HttpError(error instanceof TooBusy ? 503 : 500, `Authorization error ${what}`, { cause: error });
  }
}
