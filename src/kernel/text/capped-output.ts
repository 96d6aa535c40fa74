/** A stream's text under a cap: its head and its tail, and how much is missing between them. */

export interface CappedOutput {
  push(chunk: Buffer): void;
  readonly truncated: boolean;
  /** Bytes that are not UTF-8 become U+FFFD. */
  text(): string;
}

/** @param maxBytes kept in all, half of it from the start and half from the end; at least 2 */
export function createCappedOutput(maxBytes: number): CappedOutput {
  const headBytes = Math.ceil(maxBytes / 2);
  // Both grow with what there is: most commands say a line or two, and nothing on the second stream.
  let head = Buffer.alloc(0);
  // A ring: a command may say its million lines in as many small pieces, and each must cost no more than itself.
  let tail = Buffer.alloc(0);
  let total = 0;

  function pushHead(chunk: Buffer): number {
    const used = Math.min(total, headBytes);
    const needed = Math.min(headBytes, used + chunk.length);
    if (needed > head.length) {
      const grown = Buffer.alloc(Math.min(headBytes, Math.max(needed, 2 * head.length)));
      head.copy(grown);
      head = grown;
    }
    return chunk.copy(head, used);
  }

  function pushTail(rest: Buffer, offset: number): void {
    if (tail.length === 0) tail = Buffer.alloc(maxBytes - headBytes);
    const kept = rest.subarray(Math.max(0, rest.length - tail.length));
    const start = (offset + rest.length - kept.length) % tail.length;
    const copied = kept.copy(tail, start);
    kept.copy(tail, 0, copied);
  }

  function tailBytes(): Buffer {
    const length = total - headBytes;
    if (length <= tail.length) return tail.subarray(0, Math.max(0, length));
    const start = length % tail.length;
    return Buffer.concat([tail.subarray(start), tail.subarray(0, start)]);
  }

  return {
    push(chunk) {
      const toHead = pushHead(chunk);
      const rest = chunk.subarray(toHead);
      if (rest.length > 0) pushTail(rest, total + toHead - headBytes);
      total += chunk.length;
    },
    get truncated() {
      return total > maxBytes;
    },
    text() {
      const first = head.subarray(0, Math.min(total, headBytes));
      if (total <= maxBytes) return Buffer.concat([first, tailBytes()]).toString('utf8');
      return `${first.toString('utf8')}\n[… ${total - maxBytes} bytes left out …]\n${tailBytes().toString('utf8')}`;
    },
  };
}
