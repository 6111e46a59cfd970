/** The signals that CRI knows, in the Kubernetes API's spelling. */
const PLAIN =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX";

const NAMES: ReadonlySet<string> = new Set([
  ...PLAIN.split(" ").map((name) => `SIG${name}`),
  ...Array.from({ length: 15 }, (_, index) => `SIGRTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `SIGRTMAX-${index + 1}`),
]);

export const isSignalName = (name: string): boolean => NAMES.has(name);
