/**
 * The labels and annotations that every kubelet sets on its sandboxes and containers, and by which it finds them after
 * a restart.
 */
export const POD_NAME_LABEL = "io.kubernetes.pod.name";
export const POD_NAMESPACE_LABEL = "io.kubernetes.pod.namespace";
export const POD_UID_LABEL = "io.kubernetes.pod.uid";
export const CONTAINER_NAME_LABEL = "io.kubernetes.container.name";

export const CONTAINER_HASH = "io.kubernetes.container.hash";
export const RESTART_COUNT = "io.kubernetes.container.restartCount";
export const TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath";
export const TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy";
export const PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler";
export const CONTAINER_PORTS = "io.kubernetes.container.ports";
export const POD_TERMINATION_GRACE = "io.kubernetes.pod.terminationGracePeriod";
export const POD_DELETION_GRACE = "io.kubernetes.pod.deletionGracePeriod";
