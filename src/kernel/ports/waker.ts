/** Waking a powered-off node, by whichever way is configured. */

export interface WakeResult {
  /** The way that worked. */
  readonly via: 'pve' | 'http' | 'packet';
  /** `sent` is all that can be known: a packet went out, the node is not awake yet. */
  readonly detail: string;
}

export interface Waker {
  /** Tries the configured ways in order. @throws {Fault} `wake_failed` with what each way said and what to do about it, `wake_not_configured`; `effect` says whether a packet may have left */
  wake(node: string, signal: AbortSignal): Promise<WakeResult>;
}
