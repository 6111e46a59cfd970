/** Guests for tests and for the command line: `resumeGuest` returns a new one within a second or two. */
import { Guest } from "./guest.ts";
import { listGuests, readRecord } from "./records.ts";
import { guestSnapshot } from "./snapshot.ts";
import { startGuest } from "./start.ts";

export interface GuestOptions {
  /** 1 to 20 of a-z, 0-9 and -; generated unless given. */
  readonly name?: string;
  /** The guest's host name, also in the network; that of the image unless given. */
  readonly hostname?: string;
  /** Without it the guest ends when it reboots or its kernel panics. */
  readonly mayReboot?: boolean;
  /** The guest outlives this process. */
  readonly stays?: boolean;
  readonly report?: (line: string) => void;
}

let made = 0;

export async function resumeGuest({ name, hostname, mayReboot, stays, report }: GuestOptions = {}): Promise<Guest> {
  const { image, disk, state } = await guestSnapshot(report);
  const guest = await startGuest({
    name: name ?? `t${process.pid}-${(made += 1)}`,
    disposable: stays !== true,
    mayReboot: mayReboot ?? false,
    kernel: image.kernel,
    initrd: image.initrd,
    base: { file: disk, format: "qcow2" },
    resumeFrom: state,
  });
  if (hostname === undefined) return guest;
  try {
    const hosts = `127.0.0.1 localhost\n127.0.1.1 ${hostname}`;
    await guest.must(`hostname ${hostname}\necho ${hostname} > /etc/hostname\nprintf '${hosts}\\n' > /etc/hosts`);
    return guest;
  } catch (error) {
    await guest.close();
    throw error;
  }
}

/** Connects to a guest that runs already, whichever process created it. */
export async function openGuest(name: string): Promise<Guest> {
  const known = (await listGuests()).find((each) => each.name === name);
  const record = await readRecord(name);
  if (known?.state !== "up" || record === undefined) throw new Error(`there is no guest ${name}`);
  return Guest.connect(record);
}
