/** A stored request as a person must see it: nothing in it unescaped, nothing from anywhere but the record itself. */
export interface ReviewCard {
  readonly id: string;
  /** `Stop VM 100 (web) on pve?` */
  readonly title: string;
  /** Plain-text lines: what it does, the exact call, who asks and why, whether anybody waits, expiry. */
  readonly detail: string;
  /** Irreversible, or strict level: the target's name and a random code, to be typed exactly so (`web 7KQ2`). */
  readonly typeToConfirm?: string;
  /** A call would hear the answer, as far as was known when the card was made. */
  readonly waits: boolean;
  /** The record does not match its own digest: it must not be approved. */
  readonly tampered: boolean;
}
