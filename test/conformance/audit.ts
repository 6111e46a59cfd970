/**
 * Reads from the API server's audit log, while it grows, what each test does: the tests' client puts the test's name
 * into the user agent of every request. The log shows which tests run, which namespaces each created, which pods were
 * created in those, and for which fields the node's agent rejected them.
 */
import { VOLUME_PLUGINS, volumeSources } from "../../src/controllers/volumes/plugins/volume-plugins.ts";
import { listUnsupportedFields } from "../../src/domain/admission/unsupported-fields.ts";
import { featureOf } from "./features.ts";

const SOURCES = volumeSources(VOLUME_PLUGINS);

export interface AuditedPod {
  readonly namespace: string;
  readonly name: string;
  /** The object as requested. */
  readonly object: unknown;
}

export interface TestTrace {
  firstSeenMs: number;
  lastSeenMs: number;
  readonly namespaces: Set<string>;
  readonly pods: AuditedPod[];
  /** Features that Deckhand lacks and that the test's pods request, whichever agent runs them. */
  readonly asks: Set<string>;
  /** Features for which the agent rejected the test's pods. */
  readonly waitsFor: Set<string>;
}

interface AuditEvent {
  readonly verb: string;
  readonly userAgent?: string;
  readonly user?: { readonly username?: string };
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly requestObject?: {
    readonly metadata?: { readonly name?: string; readonly generateName?: string };
    readonly status?: { readonly reason?: string; readonly message?: string };
  };
  readonly responseStatus?: { readonly code?: number };
}

const TEST_NAME = / -- (?<test>\[sig-.*)$/;
const NOT_SUPPORTED = /does not support (?<field>\S+) yet/;
export class Audit {
  readonly #tests = new Map<string, TestTrace>();
  readonly #testOf = new Map<string, string>();

  /** Reads one line of the log. */
  note(line: string): void {
    // Most lines are of controllers, and long: only those of tests and of pods are parsed.
    if (!line.includes(" -- [sig-") && !line.includes('"resource":"pods"')) return;
    const event = JSON.parse(line) as AuditEvent;
    const test = TEST_NAME.exec(event.userAgent ?? "")?.groups?.["test"];
    if (test !== undefined) this.#noteOfTest(test, event);
    const { resource, subresource, namespace } = event.objectRef ?? {};
    if (resource !== "pods" || namespace === undefined) return;
    const owner = this.#tests.get(this.#testOf.get(namespace) ?? "");
    if (owner === undefined) return;
    if (event.verb === "create" && subresource === undefined) {
      owner.pods.push(podOf(event, namespace));
      for (const field of listUnsupportedFields(event.requestObject ?? {}, SOURCES)) owner.asks.add(featureOf(field));
    }
    const { reason, message = "" } = event.requestObject?.status ?? {};
    const field = reason === "NotSupported" ? NOT_SUPPORTED.exec(message)?.groups?.["field"] : undefined;
    if (field !== undefined) owner.waitsFor.add(featureOf(field));
  }

  #noteOfTest(test: string, event: AuditEvent): void {
    const atMs = Date.parse(event.requestReceivedTimestamp);
    const trace = this.#tests.get(test) ?? newTrace(atMs);
    trace.lastSeenMs = atMs;
    this.#tests.set(test, trace);
    const { resource, namespace, name } = event.objectRef ?? {};
    if (resource === "namespaces" && event.verb === "create" && name !== undefined) {
      trace.namespaces.add(name);
      this.#testOf.set(name, test);
    }
    // A test may use a namespace from a setup step, whose requests do not carry the test's name yet.
    if (namespace !== undefined && !this.#testOf.has(namespace) && !SHARED.has(namespace)) {
      trace.namespaces.add(namespace);
      this.#testOf.set(namespace, test);
    }
  }

  of(test: string): TestTrace | undefined {
    return this.#tests.get(test);
  }

  /** All tests that have sent a request so far. */
  tests(): readonly string[] {
    return [...this.#tests.keys()];
  }
}

const SHARED: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public", "kube-node-lease"]);

const newTrace = (atMs: number): TestTrace => ({
  firstSeenMs: atMs,
  lastSeenMs: atMs,
  namespaces: new Set(),
  pods: [],
  asks: new Set(),
  waitsFor: new Set(),
});

function podOf({ objectRef, requestObject }: AuditEvent, namespace: string): AuditedPod {
  const { name, generateName } = requestObject?.metadata ?? {};
  return { namespace, name: objectRef?.name ?? name ?? `${generateName ?? ""}*`, object: requestObject };
}
