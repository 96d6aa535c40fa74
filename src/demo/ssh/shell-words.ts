/**
 * Reads the little shell that the demo nodes understand: words with quotes and globs, `NAME=value` before a command, pipelines,
 * `;`, `&&`, `||`, and redirections of standard streams to and from `/dev/null`. Nothing is ever handed to a real shell; whatever
 * else a line holds (`$`, backquotes, parentheses, `&`) is a syntax error here.
 */

/** A word after quotes were taken off; `globs` tells that it had an unquoted `*`, `?` or `[`. */
export interface Word {
  readonly text: string;
  readonly globs: boolean;
}

export interface SimpleCommand {
  readonly words: readonly Word[];
  /** Standard error goes to standard output. */
  readonly mergeStderr: boolean;
  readonly dropStdout: boolean;
  readonly dropStderr: boolean;
}

export interface Step {
  /** When it runs, seen from the step before: always, only after success, only after failure. */
  readonly when: ';' | '&&' | '||';
  readonly pipeline: readonly SimpleCommand[];
}

/** A line outside that language. */
export class ShellSyntaxError extends Error {}

type Token = { readonly kind: 'word'; readonly word: Word } | { readonly kind: 'operator'; readonly text: string };

const operatorPattern = /^(?:\|\||&&|2>&1|[012]?>>?\s*\/dev\/null|<\s*\/dev\/null|;|\||\n)/;

/** @throws {ShellSyntaxError} */
export function parseScript(script: string): readonly Step[] {
  const steps: Step[] = [];
  let when: Step['when'] = ';';
  let pipeline: SimpleCommand[] = [];
  let current: Token[] = [];
  const endCommand = () => {
    if (current.length > 0) pipeline.push(buildCommand(current));
    current = [];
  };
  const endStep = (next: Step['when']) => {
    endCommand();
    if (pipeline.length > 0) steps.push({ when, pipeline });
    pipeline = [];
    when = next;
  };
  for (const token of tokenize(script)) {
    if (token.kind === 'operator' && token.text === '|') endCommand();
    else if (token.kind === 'operator' && /^(?:;|\n|&&|\|\|)$/.test(token.text))
      endStep(token.text === '\n' ? ';' : (token.text as Step['when']));
    else current.push(token);
  }
  endStep(';');
  return steps;
}

function buildCommand(tokens: readonly Token[]): SimpleCommand {
  const words = tokens.flatMap((token) => (token.kind === 'word' ? [token.word] : []));
  const operators = tokens.flatMap((token) => (token.kind === 'operator' ? [token.text.replace(/\s+/g, '')] : []));
  return {
    words,
    mergeStderr: operators.includes('2>&1'),
    dropStdout: operators.some((text) => /^1?>>?\/dev\/null$/.test(text)),
    dropStderr: operators.some((text) => /^2>>?\/dev\/null$/.test(text)),
  };
}

function tokenize(script: string): Token[] {
  const tokens: Token[] = [];
  let rest = script;
  while (rest !== '') {
    const blank = /^(?:[ \t]+|\\\n)/.exec(rest)?.[0];
    const operator = operatorPattern.exec(rest)?.[0];
    if (blank !== undefined) rest = rest.slice(blank.length);
    else if (operator !== undefined) {
      tokens.push({ kind: 'operator', text: operator });
      rest = rest.slice(operator.length);
    } else {
      const { word, length } = readWord(rest);
      tokens.push({ kind: 'word', word });
      rest = rest.slice(length);
    }
  }
  return tokens;
}

function readWord(source: string): { readonly word: Word; readonly length: number } {
  let text = '';
  let globs = false;
  let at = 0;
  while (at < source.length) {
    const piece = readPiece(source.slice(at));
    if (piece === undefined) break;
    text += piece.text;
    globs ||= piece.globs;
    at += piece.length;
  }
  if (at === 0) throw new ShellSyntaxError(`syntax error near unexpected token \`${source[0]}'`);
  return { word: { text, globs }, length: at };
}

interface Piece {
  readonly text: string;
  readonly globs: boolean;
  readonly length: number;
}

/** The next part of a word, or undefined at its end. */
function readPiece(source: string): Piece | undefined {
  const first = source[0] ?? '';
  if (/[\s;|]/.test(first)) return undefined;
  if (first === "'") return quoted(source, /^'([^']*)'/, (body) => body);
  if (first === '"') return quoted(source, /^"((?:[^"\\$`]|\\[\s\S])*)"/, (body) => body.replace(/\\([\\"$`])/g, '$1'));
  if (first === '\\') return { text: source[1] ?? '', globs: false, length: 2 };
  if (/[$`()&<>]/.test(first)) throw new ShellSyntaxError(`syntax error near unexpected token \`${first}'`);
  const plain = /^[^\s;|'"\\$`()&<>]+/.exec(source)?.[0] ?? first;
  return { text: plain, globs: /[*?[]/.test(plain), length: plain.length };
}

function quoted(source: string, pattern: RegExp, read: (body: string) => string): Piece {
  const match = pattern.exec(source);
  if (match === null) throw new ShellSyntaxError('unexpected EOF while looking for matching quote');
  return { text: read(match[1] ?? ''), globs: false, length: match[0].length };
}
