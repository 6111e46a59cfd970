/** The log for people. Fields are data: a formatter in the app layer renders text or JSON and masks secrets. */
export interface Log {
  /** `level` as in klog: 0 is always shown, higher levels only at higher verbosity. */
  info(level: number, message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Logs a failure that someone may need to investigate. */
  error(message: string, error: unknown, fields?: Readonly<Record<string, unknown>>): void;
}
