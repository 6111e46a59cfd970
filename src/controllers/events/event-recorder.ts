/**
 * The event sink that writes to the API server.
 *
 * Emitting never waits: an event joins the queue, or is dropped and counted when the queue is full. While the API
 * server is unreachable, the recorder retries the oldest event. An equal event emitted meanwhile is counted into the
 * queued one. An event that the API server rejects is dropped at once, so that a terminating namespace blocks no other
 * event.
 *
 * Events of the Node carry its UID, because `kubectl describe node` searches by it. Node events emitted at startup wait
 * until the API server has returned the Node, for at most `NODE_WAIT_MS`; no pod runs before that either.
 */
import type { Event } from "../../api/gen/core-v1.ts";
import { coreEvents } from "../../api/resources.ts";
import { boundedText } from "../../base/cut-text.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { TokenBucket } from "../../concurrency/token-bucket.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { EventCorrelator } from "../../domain/events/correlate.ts";
import type { EventSubject } from "../../domain/events/recorded-event.ts";
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
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { EVENTS_QUEUED_MAX } from "../limits.ts";
import { logEventSink } from "./log-sink.ts";

export interface EventRecorderOptions {
  readonly nodeName: string;
  /** 0 means no limit. */
  readonly eventRecordQps: number;
  readonly eventBurst: number;
}

export interface EventRecorderPorts {
  readonly api: Pick<ApiServer, "create" | "patch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** If omitted, events of the Node have no UID. */
  readonly ownNode?: Latest<OwnNode>;
}

/** Counted from the kubelet's start. */
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
  /** By correlation key, oldest first. */
  readonly #queue = new Map<string, Pending>();
  readonly #emitted = new Notifier();
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

  /** Events that were emitted but never written: rejected, given up, or dropped because the queue was full. */
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
    this.#emitted.notify();
  }

  async run(shutdown: AbortSignal): Promise<void> {
    while (!shutdown.aborted) {
      const seen = this.#emitted.version;
      const next = this.#queue.entries().next();
      try {
        if (next.done === true) await this.#emitted.changed(seen, shutdown);
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
      await waitForChange(clock, [{ cell: ownNode, seen: ownNode.version }], leftMs, shutdown);
    }
  }

  #withNodeUid(event: RecordedEvent): RecordedEvent {
    const own = this.#ports.ownNode?.value;
    if (event.subject.kind !== "Node" || own?.kind !== "present") return event;
    return { ...event, subject: { ...event.subject, uid: own.node.metadata?.uid ?? "" } };
  }

  /** Event names contain the time of emission; two events of one moment need different names. */
  #nextNs(wallMs: number): bigint {
    const ns = BigInt(Math.trunc(wallMs)) * 1_000_000n;
    this.#lastNs = ns > this.#lastNs ? ns : this.#lastNs + 1n;
    return this.#lastNs;
  }

  async #writeOldest(key: string, shutdown: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    for (let tries = 1; ; tries += 1) {
      await this.#bucket?.take(shutdown);
      // The event is taken as late as possible, so that equal events emitted during the wait are counted in.
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
      // Jitter: many nodes lose one API server at the same moment and must not all return at the same moment.
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
      // Either the response to an earlier attempt was lost, or the API server has deleted the event, as it does after
      // an hour.
      if (first && isAlreadyExists(error)) return await update();
      if (!first && isNotFound(error)) return await create();
      throw error;
    }
  }

  /**
   * Puts the event back at the front of the queue. If an equal event was emitted meanwhile, the newer one is kept: it
   * includes this one.
   */
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
