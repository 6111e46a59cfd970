/** Who started this process and watches over it (systemd). */
export type ServiceNews =
  /** It has begun its work. */
  | "ready"
  /** Every part of it does its work: said again and again where it is watched. */
  | "alive"
  /** It was told to end, and does. */
  | "stopping";

export interface ServiceManager {
  /** Comes back when it has been said; rejects when it could not be. */
  tell(news: ServiceNews, signal: AbortSignal): Promise<void>;
}
