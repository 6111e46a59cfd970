/** Where loops tell users what happened to a pod or to the node. Never blocks and never fails: telling is not doing. */
export interface EventSubject {
  readonly kind: "Pod" | "Node";
  readonly name: string;
  readonly namespace: string;
  /** Empty for a Node. */
  readonly uid: string;
  readonly resourceVersion?: string;
  /** Such as `spec.containers{app}`. */
  readonly fieldPath?: string;
}

export interface EventSink {
  emit(
    subject: EventSubject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void;
}
