/** Where a loop says what it does, for people. Fields are data; a formatter of the app's makes text or JSON of them and masks secrets. */
export interface Log {
  /** `level` as in klog: 0 is always shown, higher ones with a higher verbosity. */
  info(level: number, message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Something failed that somebody may want to look into. */
  error(message: string, error: unknown, fields?: Readonly<Record<string, unknown>>): void;
}
