/**
 * The words that the commands of a line begin with, for people's rules: quotes taken off, substitutions looked into, wrappers followed.
 * It is no parser of bash: texts of here-documents, scripts in files and what other programs start are not seen.
 */

import { splitNames } from '#kernel/text/text';
import { Cursor } from '../cursor.ts';

/** `known`: nothing in it expands, so `text` is the word. */
export interface Word {
  readonly text: string;
  readonly known: boolean;
}

export type Command = readonly Word[];

export interface Reading {
  /** Each program that starts with its words; behind a wrapper (`sudo git push`) both of them. */
  readonly commands: readonly Command[];
  /** No quote, bracket or substitution is left open. */
  readonly whole: boolean;
}

const deepest = 20;

/** Never throws, whatever the text. Linear but for here-documents. */
export function readCommands(text: string, depth = 0): Reading {
  const reader = new Reader(text, depth);
  reader.readList('');
  const inner = reader.commands.map((command) => startedBy(command, depth));
  return { commands: inner.flatMap(({ commands }) => commands), whole: reader.whole && inner.every(({ whole }) => whole) };
}

const assignment = /^[A-Za-z_]\w*(?:\[\w*\])?\+?=/;
const reserved: ReadonlySet<string> = new Set(splitNames('! { if then elif else while until do coproc'));
const wrappers: ReadonlySet<string> = new Set(
  splitNames('builtin command doas env exec ionice nice nohup setsid stdbuf sudo time timeout xargs'),
);
const shells = /^(?:\/(?:usr\/)?bin\/)?(?:ba|da|k|z)?sh$/;

/** The command without what only stands before it, and what its words start in their turn. */
function startedBy(words: Command, depth: number): Reading {
  const start = words.findIndex((word) => !assignment.test(word.text) && !(word.known && reserved.has(word.text)));
  const [program, ...rest] = start < 0 ? [] : words.slice(start);
  if (program === undefined) return { commands: [], whole: true };
  const command = [program, ...rest];
  const inner = depth >= deepest ? { commands: [], whole: false } : innerOf(program.text, rest, depth + 1);
  return { commands: [command, ...inner.commands], whole: inner.whole };
}

function innerOf(program: string, rest: Command, depth: number): Reading {
  if (wrappers.has(program)) {
    const first = rest.findIndex(({ text, known }) => !known || !/^(?:[-+\d{]|[A-Za-z_]\w*=)/.test(text));
    if (first >= 0) return startedBy(rest.slice(first), depth);
  }
  const script = program === 'eval' ? rest : shells.test(program) ? scriptOf(rest) : [];
  if (script.length === 0) return { commands: [], whole: true };
  return script.every(({ known }) => known)
    ? readCommands(script.map(({ text }) => text).join(' '), depth)
    : { commands: [[{ text: '', known: false }]], whole: true };
}

/** `bash -lc SCRIPT` */
function scriptOf(rest: Command): Command {
  const option = rest.findIndex(({ text }) => /^-[a-z]*c$/.test(text));
  return option < 0 ? [] : rest.slice(option + 1, option + 2);
}

/** For bash no other blank ends a word. */
const ends = /[ \t\r\n;&|()<>]/;
const plainRun = /[^ \t\r\n;&|()<>'"$`\\*?[{]+/y;
/** Where nothing runs: `<<` is no here-document there. */
const arithmetic = /\$?\(\((?:[^()$`]|\$\w|\([^()$`]*\))*\)\)/y;
const expansion = /\$(?:\w+|[@*#?$!-])/y;

class Reader extends Cursor {
  readonly commands: Word[][] = [];
  whole = true;
  #depth: number;
  #delimiters: string[] = [];

  constructor(text: string, depth: number) {
    super(text);
    this.#depth = depth;
  }

  /** Up to `close`; empty: to the end. */
  readList(close: string): void {
    let words: Word[] = [];
    this.commands.push(words);
    while (this.next !== '' && this.next !== close) {
      if (this.takeMatch(/(?:[ \t\r]|\\\n)+|#[^\n]*/y) !== undefined) continue;
      if (this.#redirects(words, close)) continue;
      const separator = this.takeMatch(/[;&|()\n]/y);
      if (separator === undefined) words.push(this.#word(close));
      else {
        if (separator === '(') this.#nested(')');
        if (separator === '\n') this.#skipHereDocuments();
        words = [];
        this.commands.push(words);
      }
    }
    if (close !== '' && this.takeMatch(/./y) === undefined) this.whole = false;
  }

  #nested(close: string): void {
    this.#within(() => this.readList(close));
  }

  #within(read: () => void): void {
    this.#depth += 1;
    if (this.#depth <= deepest) read();
    else {
      this.whole = false;
      this.at = this.text.length;
    }
    this.#depth -= 1;
  }

  /** The file behind a redirection is no word of the command. */
  #redirects(words: Word[], close: string): boolean {
    if (this.takeMatch(arithmetic) !== undefined) return true;
    if (this.takeMatch(/[<>]\(/y) !== undefined) {
      this.#nested(')');
      words.push({ text: '', known: false });
      return true;
    }
    const operator = this.takeMatch(/&>>?|\d*(?:<<<|<<-?|<>|>>|>\||[<>]&?)/y);
    if (operator === undefined) return false;
    this.takeMatch(/[ \t]+/y);
    const target = this.#word(close).text;
    if (/^\d*<<-?$/.test(operator)) this.#delimiters.push(target);
    return true;
  }

  #skipHereDocuments(): void {
    for (const delimiter of this.#delimiters.splice(0)) {
      let line: string | undefined;
      do line = this.takeMatch(/[^\n]*(?:\n|$)/y)?.trim();
      while (this.next !== '' && line !== delimiter);
      if (line !== delimiter) this.whole = false;
    }
  }

  #word(close: string): Word {
    let text = '';
    let known = true;
    while (this.next !== '' && this.next !== close && !ends.test(this.next)) {
      const piece = this.#piece();
      text += piece.text;
      known &&= piece.known;
    }
    return { text, known };
  }

  #piece(): Word {
    const plain = this.takeMatch(plainRun);
    if (plain !== undefined) return { text: plain, known: true };
    if (this.next === "'") return { text: this.#quoted(/'[^']*(?:'|$)/y, "'").slice(1), known: true };
    if (this.takeMatch(/\$?"/y) !== undefined) return this.#inside('"');
    const escaped = this.takeMatch(/\\[\s\S]?/y);
    if (escaped !== undefined) return { text: escaped === '\\\n' ? '' : escaped.slice(1), known: true };
    if (this.text.startsWith("$'", this.at)) {
      const body = this.#quoted(/\$'(?:[^'\\]|\\[\s\S]?)*(?:'|$)/y, "'").slice(2);
      return { text: body, known: !body.includes('\\') };
    }
    if (this.#expands()) return { text: '', known: false };
    // A pattern, a list of words in braces, or the character itself.
    const pattern = /[*?]|\[[^\s\]]+\]|\{[^\s{}]*(?:,|\.\.)/y;
    pattern.lastIndex = this.at;
    const isPattern = pattern.test(this.text);
    return { text: this.takeMatch(/[\s\S]/y) ?? '', known: !isPattern };
  }

  #quoted(pattern: RegExp, close: string): string {
    const found = this.takeMatch(pattern) ?? '';
    if (found.length > 1 && found.endsWith(close)) return found.slice(0, -1);
    this.whole = false;
    return found;
  }

  /** `$x`, `${…}`, `$((…))`, `$(…)` and backquotes. */
  #expands(): boolean {
    if (this.takeMatch(arithmetic) !== undefined) return true;
    if (this.takeMatch(/\$\(/y) !== undefined) this.#nested(')');
    else if (this.takeMatch(/`/y) !== undefined) this.#nested('`');
    else if (this.takeMatch(/\$\{/y) !== undefined) this.#within(() => this.#inside('}'));
    else return this.takeMatch(expansion) !== undefined;
    return true;
  }

  /** Double quotes, or the braces of an expansion: what expands there runs as well. */
  #inside(close: string): Word {
    let text = '';
    let known = true;
    while (this.next !== close) {
      if (this.next === '') {
        this.whole = false;
        break;
      }
      const escaped = this.takeMatch(/\\[$`"\\\n]/y);
      if (escaped !== undefined) text += escaped === '\\\n' ? '' : escaped.slice(1);
      else if (this.#expands()) known = false;
      else text += this.takeMatch(/[^\\$`"}]+|[\s\S]/y) ?? '';
    }
    this.takeMatch(/./y);
    return { text, known };
  }
}
