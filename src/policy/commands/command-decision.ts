/** What every command surface answers. */
import type { Decision } from '#kernel/decision';

export interface CommandDecision {
  readonly decision: Decision;
  /** Only where it may run: the re-quoted text that runs instead of the caller's. */
  readonly canonical?: string;
}

/** A refusal's sentence with its place: `refused at character 7: …`. Characters are counted from 1, as people do. */
export function placed(offset: number, message: string): string {
  return `refused at character ${offset + 1}: ${message}`;
}
