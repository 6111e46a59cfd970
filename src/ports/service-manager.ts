/** The service manager (systemd) that started this process and supervises it. */
export type ServiceState =
  /** The process has started its work. */
  | "ready"
  /** All parts of the process are working; sent repeatedly if the service has a watchdog. */
  | "alive"
  /** The process is shutting down. */
  | "stopping";

export interface ServiceManager {
  /** Resolves when the message has been delivered; rejects if it could not be. */
  notify(state: ServiceState, signal: AbortSignal): Promise<void>;
}
