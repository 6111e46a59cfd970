/** Metrics of image pulls, of images that are mounted as volumes, and of images that are removed. */
import type { Registry } from "../../base/metrics/registry.ts";

export type ImageMetrics = ReturnType<typeof imageMetrics>;

export const imageMetrics = (registry: Registry) => ({
  collected: registry.counter({
    name: "kubelet_image_garbage_collected_total",
    help: "[ALPHA] Total number of images garbage collected by the kubelet, whether through disk usage or image age.",
    labels: ["reason"],
  }),
  pulls: registry.histogram({
    name: "kubelet_image_pull_duration_seconds",
    help: "[ALPHA] Duration in seconds to pull an image.",
    labels: ["image_size_in_bytes"],
    buckets: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
  }),
  volumesRequested: registry.counter({
    name: "kubelet_image_volume_requested_total",
    help: "[BETA] Number of requested image volumes.",
    labels: [],
  }),
  volumesMounted: registry.counter({
    name: "kubelet_image_volume_mounted_succeed_total",
    help: "[BETA] Number of successful image volume mounts.",
    labels: [],
  }),
  volumeErrors: registry.counter({
    name: "kubelet_image_volume_mounted_errors_total",
    help: "[BETA] Number of failed image volume mounts.",
    labels: [],
  }),
});

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const SIZES: readonly (readonly [above: number, label: string])[] = [
  [100 * GIB, "GT100GB"],
  [60 * GIB, "60GB-100GB"],
  [40 * GIB, "40GB-60GB"],
  [30 * GIB, "30GB-40GB"],
  [20 * GIB, "20GB-30GB"],
  [10 * GIB, "10GB-20GB"],
  [5 * GIB, "5GB-10GB"],
  [1 * GIB, "1GB-5GB"],
  [500 * MIB, "500MB-1GB"],
  [100 * MIB, "100MB-500MB"],
  [10 * MIB, "10MB-100MB"],
  [0, "0-10MB"],
];

/** The rough size of an image, as a label with few values. */
export const imageSizeLabel = (bytes: number): string => SIZES.find(([above]) => bytes > above)?.[1] ?? "N/A";
