/** A stream's text under a cap: its head and its tail, and how much is missing between them. */

export interface CappedOutput {
  push(chunk: Buffer): void;
  readonly truncated: boolean;
  /** Bytes that are not UTF-8 become U+FFFD. */
  text(): string;
}

/** @param maxBytes kept in all, half of it from the start and half from the end */
export function createCappedOutput(maxBytes: number): CappedOutput {
  const headBytes = Math.ceil(maxBytes / 2);
  const tailBytes = maxBytes - headBytes;
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let total = 0;
  return {
    push(chunk) {
      total += chunk.length;
      const room = headBytes - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const rest = room > 0 ? chunk.subarray(room) : chunk;
      if (rest.length > 0) tail = lastBytes([tail, rest], tailBytes);
    },
    get truncated() {
      return total > maxBytes;
    },
    text() {
      const missing = total - head.length - tail.length;
      if (missing === 0) return Buffer.concat([head, tail]).toString('utf8');
      return `${head.toString('utf8')}\n[… ${missing} bytes left out …]\n${tail.toString('utf8')}`;
    },
  };
}

function lastBytes(parts: readonly Buffer[], count: number): Buffer<ArrayBuffer> {
  const whole = Buffer.concat(parts);
  // A copy, not a view: a view would keep every chunk that ever came alive.
  return Buffer.from(whole.subarray(Math.max(0, whole.length - count)));
}
