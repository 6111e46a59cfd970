/**
 * Why the Go kubelet has more than one answer to a question. Every such question needs a reason, and every reason a
 * question.
 */
export interface Variation {
  readonly suite: string;
  readonly question: RegExp;
  readonly why: string;
}

export const VARIATIONS: readonly Variation[] = [
  {
    suite: "restart-differential",
    question: /start after the back-off, ms$/,
    why: "These are measured times: the Go kubelet restarts a container with the first sync after the end of its back-off.",
  },
  {
    suite: "ordinary-differential",
    question: /^map-missing-long sequence$/,
    why: "The Go kubelet mounts the volumes of a pod beside one another: which of two fails first is chance.",
  },
];
