/** Lines of standard input within a limit: a longer one is taken out and told about, and what follows it is read on. */
import { Transform, type TransformCallback } from 'node:stream';

/** A JSON-RPC request's id; undefined where it has none or none can be seen. */
type SeenId = string | number | undefined;

/** How much of either end of a dropped line is looked at for its id, in bytes. */
const endBytes = 1024;
const newline = 0x0a;

/**
 * @param told of each line that was dropped, at its end, with its id if it was a request
 * @param beforeEnd what its end waits for
 */
export function limitLines(
  maxBytes: number,
  told: (id: SeenId) => void,
  beforeEnd: () => Promise<void> = async () => undefined,
): Transform {
  const line = createLine(maxBytes);
  const endLine = (): Buffer | undefined => {
    const { whole, dropped } = line.end();
    if (dropped !== undefined) told(requestIdOf(dropped.head, dropped.tail));
    return whole;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
      const last = chunk.lastIndexOf(newline) + 1;
      // Whole lines pass as they came; only what is cut up is put together.
      const first = last === 0 || line.isEmpty() ? 0 : chunk.indexOf(newline) + 1;
      if (first > 0) {
        line.add(chunk.subarray(0, first));
        const whole = endLine();
        if (whole !== undefined) this.push(whole);
      }
      if (last > first) this.push(chunk.subarray(first, last));
      if (last < chunk.length) line.add(chunk.subarray(last));
      done();
    },
    flush(done: TransformCallback) {
      // The end of the stream ends a line, too.
      const whole = endLine();
      if (whole !== undefined && whole.length > 0) this.push(Buffer.concat([whole, Buffer.of(newline)]));
      void endAfter(beforeEnd, done);
    },
  });
}

async function endAfter(wait: () => Promise<void>, done: TransformCallback): Promise<void> {
  await wait();
  done();
}

interface Ends {
  readonly head: string;
  readonly tail: string;
}

/** One line as it comes in: kept whole while it is short enough, its two ends only after that. */
function createLine(maxBytes: number) {
  let parts: Buffer[] = [];
  let size = 0;
  let ends: { readonly head: Buffer; tail: Buffer } | undefined;
  const lastOf = (bytes: Buffer) => Buffer.from(bytes.subarray(-endBytes));
  return {
    isEmpty: () => size === 0,
    add: (part: Buffer): void => {
      size += part.length;
      if (ends !== undefined) {
        ends.tail = lastOf(Buffer.concat([ends.tail, part]));
        return;
      }
      parts.push(part);
      if (size <= maxBytes) return;
      const all = Buffer.concat(parts);
      ends = { head: Buffer.from(all.subarray(0, endBytes)), tail: lastOf(all) };
      parts = [];
    },
    end: (): { readonly whole?: Buffer; readonly dropped?: Ends } => {
      const ended =
        ends === undefined ? { whole: Buffer.concat(parts) } : { dropped: { head: String(ends.head), tail: String(ends.tail) } };
      parts = [];
      size = 0;
      ends = undefined;
      return ended;
    },
  };
}

const value = '("[^"\\\\]{0,200}"|-?\\d{1,15})';
const leading = new RegExp(`\\s*[{,]\\s*"(jsonrpc|id|method)"\\s*:\\s*${value}`, 'y');
/** The one brace at the very end closes the message itself, so what stands before it is the message's own. */
const trailing = new RegExp(`[{,]\\s*"id"\\s*:\\s*${value}\\s*\\}\\s*$`);

/** The id of a request, read from the members before its `params` or after them: clients write it on either side. */
function requestIdOf(head: string, tail: string): SeenId {
  const members = new Map<string, string>();
  leading.lastIndex = 0;
  for (let found = leading.exec(head); found !== null; found = leading.exec(head)) members.set(found[1] ?? '', found[2] ?? '');
  const id = members.get('id') ?? trailing.exec(tail)?.[1];
  // An answer of the client's has an id, too, and no method.
  return id === undefined || !members.has('method') ? undefined : (JSON.parse(id) as string | number);
}
