/**
 * The event sink over the API server.
 *
 * Telling never waits: an event joins the queue or, when that is full, is dropped and counted. While the API server is away the queue
 * stands and the oldest event is tried again; the same event told meanwhile is counted into the one that waits. An event that the
 * server refuses is given up at once, so that one namespace on its way out holds nobody up.
 *
 * Events of the Node carry its UID, by which `kubectl describe node` looks for them. Those that are reported at the start wait until the API server has said
 * which Node this is, for `NODE_WAIT_MS` at most; no pod runs before either.
 */
import type { Event } from "../../api/gen/core-v1.ts";
import { coreEvents } from "../../api/resources.ts";
import { boundedText } from "../../base/cut-text.ts";
import { changedWithin } from "../../concurrency/changed-within.ts";
import { type Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { TokenBucket } from "../../concurrency/token-bucket.ts";
import { EventCorrelator } from "../../domain/events/correlate.ts";
import {
  type Counted,
  eventName,
  eventObject,
  eventPatch,
  namespaceOf,
  type RecordedEvent,
} from "../../domain/events/recorded-event.ts";
import { EVENT_MESSAGE_BYTES_MAX } from "../../domain/limits.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import { ApiError, isAlreadyExists, isNotFound } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink, EventSubject } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { EVENTS_QUEUED_MAX } from "../limits.ts";
import { logEventSink } from "./log-sink.ts";

export interface EventRecorderOptions {
  readonly nodeName: string;
  /** 0: no limit. */
  readonly eventRecordQps: number;
  readonly eventBurst: number;
}

export interface EventRecorderPorts {
  readonly api: Pick<ApiServer, "create" | "patch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Left out: events of the Node have no UID. */
  readonly ownNode?: Latest<OwnNode>;
}

/** After the agent's start. */
const NODE_WAIT_MS = 5_000;
const TRIES_MAX = 12;
const RETRY_MS = 10_000;

interface Pending {
  readonly event: RecordedEvent;
  readonly first: boolean;
  readonly counted: Counted;
}

export class EventRecorder implements EventSink {
  readonly #ports: EventRecorderPorts;
  readonly #reporter: { readonly component: string; readonly host: string };
  readonly #correlator = new EventCorrelator();
  /** By key, oldest first. */
  readonly #queue = new Map<string, Pending>();
  readonly #told = new LatestCell(0);
  readonly #bucket: TokenBucket | undefined;
  readonly #logged: EventSink;
  readonly #startMs: number;
  #dropped = 0;
  #lastNs = 0n;

  constructor(ports: EventRecorderPorts, options: EventRecorderOptions) {
    this.#ports = ports;
    this.#startMs = ports.clock.monotonicMs();
    this.#reporter = { component: "kubelet", host: options.nodeName };
    const limits = { perSecond: options.eventRecordQps, burst: options.eventBurst };
    this.#bucket = options.eventRecordQps > 0 ? new TokenBucket(ports.clock, limits) : undefined;
    this.#logged = logEventSink(ports.log, 3);
  }

  /** How many were told and never written: refused, given up or without a place in the queue. */
  get dropped(): number {
    return this.#dropped;
  }

  emit(
    subject: EventSubject,
    type: "Normal" | "Warning",
    reason: string,
    wholeMessage: string,
    annotations?: Readonly<Record<string, string>>,
  ): void {
    const { clock, random } = this.#ports;
    const message = boundedText(wholeMessage, EVENT_MESSAGE_BYTES_MAX);
    this.#logged.emit(subject, type, reason, message, annotations);
    const wallMs = clock.wallMs();
    const event = { subject, type, reason, message, wallMs, ...(annotations === undefined ? {} : { annotations }) };
    const name = eventName(subject.name, this.#nextNs(wallMs), random.uuid());
    const correlated = this.#correlator.observe(event, name, clock.monotonicMs());
    if (correlated.kind === "dropped") return;
    const { key, counted } = correlated;
    const waiting = this.#queue.get(key);
    if (waiting === undefined && this.#queue.size >= EVENTS_QUEUED_MAX) {
      this.#drop("the queue is full", event);
      return;
    }
    this.#queue.set(key, { event, counted, first: waiting?.first ?? correlated.first });
    this.#told.set(this.#told.value + 1);
  }

  async run(shutdown: AbortSignal): Promise<void> {
    while (!shutdown.aborted) {
      const seen = this.#told.version;
      const next = this.#queue.entries().next();
      try {
        if (next.done === true) await this.#told.changed(seen, shutdown);
        else {
          const [key, { event }] = next.value;
          if (event.subject.kind === "Node") await this.#nodeIsKnown(shutdown);
          await this.#writeOldest(key, shutdown);
        }
      } catch (error) {
        if (shutdown.aborted) return;
        throw error;
      }
    }
  }

  async #nodeIsKnown(shutdown: AbortSignal): Promise<void> {
    const { clock, ownNode } = this.#ports;
    if (ownNode === undefined) return;
    while (ownNode.value.kind !== "present") {
      const leftMs = this.#startMs + NODE_WAIT_MS - clock.monotonicMs();
      if (leftMs <= 0) return;
      await changedWithin(clock, [{ cell: ownNode, seen: ownNode.version }], leftMs, shutdown);
    }
  }

  #withNodeUid(event: RecordedEvent): RecordedEvent {
    const own = this.#ports.ownNode?.value;
    if (event.subject.kind !== "Node" || own?.kind !== "present") return event;
    return { ...event, subject: { ...event.subject, uid: own.node.metadata?.uid ?? "" } };
  }

  /** Names are the time of telling; two of one moment must not have one name. */
  #nextNs(wallMs: number): bigint {
    const ns = BigInt(Math.trunc(wallMs)) * 1_000_000n;
    this.#lastNs = ns > this.#lastNs ? ns : this.#lastNs + 1n;
    return this.#lastNs;
  }

  async #writeOldest(key: string, shutdown: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    for (let tries = 1; ; tries += 1) {
      await this.#bucket?.take(shutdown);
      // Taken as late as possible: what was told while it waited is counted in.
      const pending = this.#queue.get(key);
      if (pending === undefined) return;
      this.#queue.delete(key);
      try {
        await this.#write(pending, shutdown);
        return;
      } catch (error) {
        if (shutdown.aborted) throw error;
        if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
          this.#drop(`the server refused it: ${error.message}`, pending.event);
          return;
        }
        if (tries >= TRIES_MAX) {
          this.#drop("retry limit exceeded", pending.event);
          return;
        }
        this.#putBack(key, pending);
        this.#ports.log.info(2, "Unable to write event (may retry after sleeping)", { error });
      }
      // Many nodes lose one server at one moment and should not come back at one moment.
      await sleep(clock, tries === 1 ? RETRY_MS * random.fraction() : RETRY_MS, shutdown);
    }
  }

  async #write({ event, first, counted }: Pending, shutdown: AbortSignal): Promise<Event> {
    const { api } = this.#ports;
    const target = { namespace: namespaceOf(event.subject), name: counted.name };
    const patch = { kind: "strategic", body: eventPatch(counted) } as const;
    const create = () =>
      api.create(coreEvents, eventObject(this.#withNodeUid(event), counted, this.#reporter), shutdown);
    const update = () => api.patch(coreEvents, target, patch, {}, shutdown);
    try {
      return await (first ? create() : update());
    } catch (error) {
      // The answer to an earlier try was lost; or the server has forgotten the event, as it does after an hour.
      if (first && isAlreadyExists(error)) return await update();
      if (!first && isNotFound(error)) return await create();
      throw error;
    }
  }

  /** Unless the same was told again meanwhile, which knows all that this one knows. */
  #putBack(key: string, pending: Pending): void {
    const newer = this.#queue.get(key);
    const kept = newer === undefined ? pending : { ...newer, first: pending.first };
    const others = [...this.#queue].filter(([other]) => other !== key);
    this.#queue.clear();
    this.#queue.set(key, kept);
    for (const [other, waiting] of others) this.#queue.set(other, waiting);
  }

  #drop(why: string, event: RecordedEvent): void {
    this.#dropped += 1;
    const { subject, reason, message } = event;
    this.#ports.log.info(2, "Event was not written", { why, object: subject.name, reason, message });
  }
}
