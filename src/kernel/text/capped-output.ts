/** A stream's text under a cap: its head and its tail, and how much is missing between them. */

export interface CappedOutput {
  push(chunk: Buffer): void;
  readonly truncated: boolean;
  /** Bytes that are not UTF-8 become U+FFFD. */
  text(): string;
}

/** @param maxBytes kept in all, half of it from the start and half from the end; at least 2 */
export function createCappedOutput(maxBytes: number): CappedOutput {
  const head = Buffer.alloc(Math.ceil(maxBytes / 2));
  // A ring: a command may say its million lines in as many small pieces, and each must cost no more than itself.
  const tail = Buffer.alloc(maxBytes - head.length);
  let total = 0;

  function pushTail(rest: Buffer, offset: number): void {
    const kept = rest.subarray(Math.max(0, rest.length - tail.length));
    const start = (offset + rest.length - kept.length) % tail.length;
    const copied = kept.copy(tail, start);
    kept.copy(tail, 0, copied);
  }

  function tailBytes(): Buffer {
    const length = total - head.length;
    if (length <= tail.length) return tail.subarray(0, Math.max(0, length));
    const start = length % tail.length;
    return Buffer.concat([tail.subarray(start), tail.subarray(0, start)]);
  }

  return {
    push(chunk) {
      const toHead = chunk.copy(head, Math.min(total, head.length));
      const rest = chunk.subarray(toHead);
      if (rest.length > 0) pushTail(rest, total + toHead - head.length);
      total += chunk.length;
    },
    get truncated() {
      return total > maxBytes;
    },
    text() {
      const first = head.subarray(0, Math.min(total, head.length));
      if (total <= maxBytes) return Buffer.concat([first, tailBytes()]).toString('utf8');
      return `${first.toString('utf8')}\n[… ${total - maxBytes} bytes left out …]\n${tailBytes().toString('utf8')}`;
    },
  };
}
