/** The metric families of /metrics/cadvisor for networks, disks and filesystems. */
import { counter, type GroupFamily, gauge, type Tell, type TellsGroup } from "./cadvisor-family.ts";
import type { BlockDeviceStats, MountStats, NetworkInterfaceStats } from "./stats-reading.ts";

const onInterfaces =
  (value: (one: NetworkInterfaceStats) => number): TellsGroup =>
  ({ network }, tell) => {
    for (const each of network ?? []) tell(value(each), [["interface", each.name]]);
  };

export const NETWORK: readonly GroupFamily[] = [
  counter(
    "container_network_receive_bytes_total",
    "Cumulative count of bytes received",
    onInterfaces(({ rxBytes }) => rxBytes),
  ),
  counter(
    "container_network_receive_packets_total",
    "Cumulative count of packets received",
    onInterfaces(({ rxPackets }) => rxPackets),
  ),
  counter(
    "container_network_receive_packets_dropped_total",
    "Cumulative count of packets dropped while receiving",
    onInterfaces(({ rxDropped }) => rxDropped),
  ),
  counter(
    "container_network_receive_errors_total",
    "Cumulative count of errors encountered while receiving",
    onInterfaces(({ rxErrors }) => rxErrors),
  ),
  counter(
    "container_network_transmit_bytes_total",
    "Cumulative count of bytes transmitted",
    onInterfaces(({ txBytes }) => txBytes),
  ),
  counter(
    "container_network_transmit_packets_total",
    "Cumulative count of packets transmitted",
    onInterfaces(({ txPackets }) => txPackets),
  ),
  counter(
    "container_network_transmit_packets_dropped_total",
    "Cumulative count of packets dropped while transmitting",
    onInterfaces(({ txDropped }) => txDropped),
  ),
  counter(
    "container_network_transmit_errors_total",
    "Cumulative count of errors encountered while transmitting",
    onInterfaces(({ txErrors }) => txErrors),
  ),
];

const onMounts =
  (value: (mount: MountStats) => number | undefined): TellsGroup =>
  ({ id }, tell, machine) => {
    if (id === "/") for (const mount of machine) tellOfDevice(tell, mount.device, value(mount));
  };

function tellOfDevice(tell: Tell, device: string, value: number | undefined): void {
  if (value !== undefined) tell(value, [["device", device]]);
}

const onDevices =
  (value: (device: BlockDeviceStats) => number | undefined): TellsGroup =>
  ({ io }, tell) => {
    for (const device of io?.devices ?? []) tellOfDevice(tell, device.device, value(device));
  };

const both =
  (first: TellsGroup, second: TellsGroup): TellsGroup =>
  (group, tell, machine) => {
    first(group, tell, machine);
    second(group, tell, machine);
  };

/**
 * The kernel counts milliseconds, and cAdvisor divides them as if they were nanoseconds: users of its metrics expect
 * these values.
 */
const diskTime = (ms: number | undefined) => (ms ?? 0) / 1e9;

export const DISKS: readonly GroupFamily[] = [
  gauge(
    "container_fs_inodes_free",
    "Number of available Inodes",
    onMounts(({ inodesFree }) => inodesFree),
  ),
  gauge(
    "container_fs_inodes_total",
    "Number of Inodes",
    onMounts(({ inodes }) => inodes),
  ),
  gauge(
    "container_fs_limit_bytes",
    "Number of bytes that can be consumed by the container on this filesystem.",
    onMounts((mount) => mount.capacityBytes),
  ),
  gauge(
    "container_fs_usage_bytes",
    "Number of bytes that are consumed by the container on this filesystem.",
    onMounts((mount) => mount.capacityBytes - mount.freeBytes),
  ),
  counter(
    "container_fs_reads_bytes_total",
    "Cumulative count of bytes read",
    onDevices(({ bytes }) => bytes["Read"]),
  ),
  counter(
    "container_fs_reads_total",
    "Cumulative count of reads completed",
    both(
      onDevices(({ requests }) => requests["Read"]),
      onMounts(({ disk }) => disk?.reads ?? 0),
    ),
  ),
  counter(
    "container_fs_sector_reads_total",
    "Cumulative count of sector reads completed",
    onMounts(({ disk }) => disk?.sectorsRead ?? 0),
  ),
  counter(
    "container_fs_reads_merged_total",
    "Cumulative count of reads merged",
    onMounts(({ disk }) => disk?.readsMerged ?? 0),
  ),
  counter(
    "container_fs_read_seconds_total",
    "Cumulative count of seconds spent reading",
    onMounts(({ disk }) => diskTime(disk?.readMs)),
  ),
  counter(
    "container_fs_writes_bytes_total",
    "Cumulative count of bytes written",
    onDevices(({ bytes }) => bytes["Write"]),
  ),
  counter(
    "container_fs_writes_total",
    "Cumulative count of writes completed",
    both(
      onDevices(({ requests }) => requests["Write"]),
      onMounts(({ disk }) => disk?.writes ?? 0),
    ),
  ),
  counter(
    "container_fs_sector_writes_total",
    "Cumulative count of sector writes completed",
    onMounts(({ disk }) => disk?.sectorsWritten ?? 0),
  ),
  counter(
    "container_fs_writes_merged_total",
    "Cumulative count of writes merged",
    onMounts(({ disk }) => disk?.writesMerged ?? 0),
  ),
  counter(
    "container_fs_write_seconds_total",
    "Cumulative count of seconds spent writing",
    onMounts(({ disk }) => diskTime(disk?.writeMs)),
  ),
  gauge(
    "container_fs_io_current",
    "Number of I/Os currently in progress",
    onMounts(({ disk }) => disk?.inProgress ?? 0),
  ),
  counter(
    "container_fs_io_time_seconds_total",
    "Cumulative count of seconds spent doing I/Os",
    onMounts(({ disk }) => diskTime(disk?.ioMs)),
  ),
  counter(
    "container_fs_io_time_weighted_seconds_total",
    "Cumulative weighted I/O time in seconds",
    onMounts(({ disk }) => diskTime(disk?.weightedIoMs)),
  ),
  counter("container_blkio_device_usage_total", "Blkio Device bytes usage", ({ io }, tell) => {
    for (const { device, major, minor, bytes } of io?.devices ?? []) {
      for (const [operation, value] of Object.entries(bytes)) {
        tell(value, [
          ["device", device],
          ["major", String(major)],
          ["minor", String(minor)],
          ["operation", operation],
        ]);
      }
    }
  }),
];
