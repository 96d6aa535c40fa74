/** The difference of two texts as `diff -u` shows it: for cards, `runs show` and whoever decides about a change. */

const context = 3;
/** Beyond it the texts have little in common, and the shortest way from one to the other is not worth looking for. */
const mostEdits = 600;

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** Lines with their marks, hunk headers before them; empty where the texts are the same. Nothing in it is escaped. */
export function unifiedDiff(before: string, after: string): readonly string[] {
  const lines = editScript(linesOf(before), linesOf(after));
  return hunksOf(lines).flatMap((hunk) => hunk);
}

/** A last line without its end is told apart, as `diff` does. */
function linesOf(text: string): readonly string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  return last === '' ? lines : [...lines, `${last}\n\\ No newline at end of file`];
}

function editScript(before: readonly string[], after: readonly string[]): readonly Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < before.length - start && tail < after.length - start && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const same = (text: string): Line => ({ mark: ' ', text });
  const [old, fresh] = [before.slice(start, before.length - tail), after.slice(start, after.length - tail)];
  return [...before.slice(0, start).map(same), ...shortest(old, fresh), ...before.slice(before.length - tail).map(same)];
}

/** E. Myers, "An O(ND) difference algorithm and its variations" (1986): the furthest point of each diagonal, edit by edit. */
function shortest(old: readonly string[], fresh: readonly string[]): readonly Line[] {
  const trace: Map<number, number>[] = [];
  let reach = new Map<number, number>();
  for (let edits = 0; edits <= Math.min(mostEdits, old.length + fresh.length); edits += 1) {
    trace.push(reach);
    const next = new Map(reach);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const { fromX, mark } = stepBack(reach, diagonal, edits);
      let x = mark === '-' ? fromX + 1 : fromX;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x += 1;
      next.set(diagonal, x);
      if (x >= old.length && x - diagonal >= fresh.length) return backwards(trace, old, fresh);
    }
    reach = next;
  }
  return [...old.map((text): Line => ({ mark: '-', text })), ...fresh.map((text): Line => ({ mark: '+', text }))];
}

function backwards(trace: readonly ReadonlyMap<number, number>[], old: readonly string[], fresh: readonly string[]): readonly Line[] {
  const lines: Line[] = [];
  let [x, y] = [old.length, fresh.length];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const { fromX, fromY, mark } = stepBack(trace[edits] ?? new Map(), x - y, edits);
    const startX = mark === '-' ? fromX + 1 : fromX;
    while (x > startX && y > 0) {
      lines.push({ mark: ' ', text: old[x - 1] ?? '' });
      [x, y] = [x - 1, y - 1];
    }
    if (edits > 0) lines.push({ mark, text: (mark === '+' ? fresh[y - 1] : old[x - 1]) ?? '' });
    [x, y] = [fromX, fromY];
  }
  return lines.reverse();
}

/** Where the last edit on this diagonal came from: from above one line was put in, from the left one was taken out. */
function stepBack(reach: ReadonlyMap<number, number>, diagonal: number, edits: number) {
  if (edits === 0) return { fromX: 0, fromY: 0, mark: ' ' } as const;
  const [above, left] = [reach.get(diagonal + 1) ?? 0, reach.get(diagonal - 1) ?? 0];
  const isDown = diagonal === -edits || (diagonal !== edits && left < above);
  if (isDown) return { fromX: above, fromY: above - diagonal - 1, mark: '+' } as const;
  return { fromX: left, fromY: left - diagonal + 1, mark: '-' } as const;
}

function hunksOf(lines: readonly Line[]): readonly (readonly string[])[] {
  const changed = lines.flatMap(({ mark }, at) => (mark === ' ' ? [] : [at]));
  const hunks: { from: number; to: number }[] = [];
  for (const at of changed) {
    const last = hunks.at(-1);
    if (last !== undefined && at - context <= last.to) last.to = Math.min(lines.length, at + context + 1);
    else hunks.push({ from: Math.max(0, at - context), to: Math.min(lines.length, at + context + 1) });
  }
  return hunks.map(({ from, to }) => [header(lines, from, to), ...lines.slice(from, to).flatMap(marked)]);
}

function marked({ mark, text }: Line): readonly string[] {
  return `${mark}${text}`.split('\n');
}

/** An empty side is named by the line before it, as `diff` does. */
function header(lines: readonly Line[], from: number, to: number): string {
  const side = (other: Line['mark']) => {
    const before = lines.slice(0, from).filter(({ mark }) => mark !== other).length;
    const count = lines.slice(from, to).filter(({ mark }) => mark !== other).length;
    return `${count === 0 ? before : before + 1}${count === 1 ? '' : `,${count}`}`;
  };
  return `@@ -${side('+')} +${side('-')} @@`;
}
