/** Brace expansion as bash 5 does it before everything else: one word into several, in order. */
import type { SyntaxNode } from './syntax-node.ts';

const most = 64;
const mostBraces = 16;

/** A piece of a word: text in which braces count, or something in which they do not (quotes, expansions, escapes). */
export interface BracePiece {
  readonly text: string;
  readonly literal: boolean;
  /** What it is, where it is more than text. */
  readonly node?: SyntaxNode;
}

type Pieces = readonly BracePiece[];

/** The words it becomes, itself where it holds no braces to expand; undefined when that is not certain or too much. */
export function expandBraces(pieces: Pieces): readonly Pieces[] | undefined {
  const characters = pieces.flatMap((piece): Pieces => (piece.literal ? [piece] : split(piece.text)));
  if (characters.filter((piece) => isText(piece, '{')).length > mostBraces) return undefined;
  try {
    return expand(characters).map(merge);
  } catch (thrown) {
    if (thrown instanceof Uncertain) return undefined;
    throw thrown;
  }
}

function split(text: string): Pieces {
  return (text.match(/\\[\s\S]|[\s\S]/gu) ?? []).map((one) => ({ text: one, literal: false }));
}

/** Thrown and caught here only. */
class Uncertain extends Error {}

function expand(pieces: Pieces): readonly Pieces[] {
  const start = indexOf(pieces, '{', 0);
  if (start < 0) return [pieces];
  const end = closing(pieces, start);
  if (end === undefined) throw new Uncertain();
  const inside = pieces.slice(start + 1, end);
  const choices = alternatives(inside);
  const rests = expand(pieces.slice(end + 1));
  const heads = choices === undefined ? [[brace('{'), ...onlyOne(inside), brace('}')]] : choices;
  const all = heads.flatMap((head) => rests.map((rest) => [...pieces.slice(0, start), ...head, ...rest]));
  if (all.length > most) throw new Uncertain();
  return all;
}

function brace(text: string): BracePiece {
  return { text, literal: true };
}

/** `{tree}` and `stash@{0}` stay as they are; braces within them are rare enough to be left alone. */
function onlyOne(inside: Pieces): Pieces {
  if (indexOf(inside, '{', 0) >= 0) throw new Uncertain();
  return inside;
}

/** What stands between the commas, each expanded; undefined when it is no list and no range. */
function alternatives(inside: Pieces): readonly Pieces[] | undefined {
  const parts: BracePiece[][] = [[]];
  let depth = 0;
  for (const piece of inside) {
    if (isText(piece, '{')) depth += 1;
    if (isText(piece, '}')) depth -= 1;
    if (depth === 0 && isText(piece, ',')) parts.push([]);
    else parts.at(-1)?.push(piece);
  }
  return parts.length > 1 ? parts.flatMap((part) => expand(part)) : range(inside);
}

function range(inside: Pieces): readonly Pieces[] | undefined {
  const text = inside.map((piece) => piece.text).join('');
  if (!text.includes('..')) return undefined;
  const numbers = /^(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.-?\d{1,4})?$/.exec(text);
  // Only the ends matter to what is judged: what lies between them is a number too.
  if (numbers !== null) return [numbers[1] ?? '', numbers[2] ?? ''].map((end) => [{ text: end, literal: true }]);
  if (/^[a-zA-Z]\.\.[a-zA-Z]$/.test(text)) return [text.charAt(0), text.charAt(3)].map((end) => [{ text: end, literal: true }]);
  throw new Uncertain();
}

function closing(pieces: Pieces, start: number): number | undefined {
  let depth = 0;
  for (let index = start; index < pieces.length; index += 1) {
    if (isText(pieces[index], '{')) depth += 1;
    if (isText(pieces[index], '}')) depth -= 1;
    if (depth === 0) return index;
  }
  return undefined;
}

function indexOf(pieces: Pieces, text: string, from: number): number {
  return pieces.findIndex((piece, index) => index >= from && isText(piece, text));
}

function isText(piece: BracePiece | undefined, text: string): boolean {
  return piece !== undefined && !piece.literal && piece.text === text;
}

function merge(pieces: Pieces): Pieces {
  const merged: BracePiece[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    if (last !== undefined && last.node === undefined && piece.node === undefined)
      merged[merged.length - 1] = brace(last.text + piece.text);
    else merged.push(piece);
  }
  return merged;
}
