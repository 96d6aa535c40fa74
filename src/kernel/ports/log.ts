/** The lines a person reads. Text must be redacted before it gets here. */
export interface Log {
  debug(line: string): void;
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
}
