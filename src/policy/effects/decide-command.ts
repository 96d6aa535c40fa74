/**
 * What the text of a command still decides where its effects are judged: characters that hide something, verbs that only people use,
 * people's own rules, leave for the network, and the question where there is no view. Pure.
 *
 * LIMIT: text is no boundary. A rule sees the words that a command begins with, as they are written (docs/security-settings.md says what it
 * does not see); the sandbox, the view and the hidden state directory hold without it.
 */

import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import type { ViewStatus } from '#kernel/ports/command-runner';
import type { CommandResource } from '#kernel/resource';
import { asIs, asListed, english, joined, say } from '#kernel/text/message';
import { splitNames, stripUnseen } from '#kernel/text/text';
import { Cursor } from '../cursor.ts';
import { readStrictLine } from '../ssh/read-line.ts';
import { fitsUserRule, type UserRule, userDecision } from '../user-rules.ts';

export interface CommandGround {
  readonly userRules: readonly UserRule[];
  /** Whether what the command changes is looked at before it counts; undefined: nobody knows, so it is not. */
  readonly view: ViewStatus | undefined;
}

/** What runs is the text as it is. */
export function decideCommand(command: CommandResource, { userRules, view }: CommandGround): Decision {
  const { text, surface, network } = command;
  const hidden = hiddenCharacter(text);
  if (hidden !== undefined) return hidden;
  const rules = userRules.filter((rule) => rule.surface === surface);
  const found = [
    ...strictWords(text, rules),
    ...(network === true ? [ask('network_blocked', say`this run is to have the network`, ['workspace.network'])] : []),
    ...(view?.judged === true || isAllowed(text, rules) ? [] : [withoutView(surface, view)]),
  ];
  return found.length === 0
    ? allow('allowed', 'it runs over a view of the workspace, and what it changes is judged', ['effects.judged'])
    : allOf(found);
}

/** What words of the text forbid or ask about, whoever runs it. */
export function strictWords(text: string, rules: readonly UserRule[]): readonly Decision[] {
  const { commands, whole } = readCommands(text);
  const own = commands.map(peoplesVerb).find((verb) => verb !== undefined);
  if (own !== undefined)
    return [deny('COMMAND_BLOCKED', say`\`banksman ${own}\` is for people, not for agents`, ['workspace.own-command'])];
  return rules.flatMap((rule) => strictRule(rule, commands, whole));
}

/** The strictest, with the reasons of all that are as strict. */
export function allOf(found: readonly Decision[]): Decision {
  const worst = strictest(found);
  const asStrict = found.filter(({ effect }) => effect === worst.effect);
  const reasons = [...new Map(asStrict.map(({ reason, words }) => [reason, words ?? asIs(reason)])).values()];
  const decisive = [...worst.rules, ...found.flatMap((decision) => decision.rules)];
  const words = joined(reasons, '; ');
  return { ...worst, reason: english(words), words, rules: [...new Set(decisive)] };
}

/** A view that was looked for in vain: the sandbox holds, so what may only look still cannot write. */
function withoutView(surface: CommandResource['surface'], view: CommandGround['view']): Decision {
  const isReadOnly = surface === 'readonly_bash';
  const held = isReadOnly
    ? say`it runs on the workspace itself, read-only, and not over a view`
    : say`what it changes counts at once and cannot be undone here`;
  const open = isReadOnly
    ? say`what it changes may count at once and cannot be undone here: the sandbox does not hold here`
    : say`what it changes counts at once and cannot be undone here: the sandbox does not hold here`;
  return ask('no_view', view?.judged === false ? say`${held}: ${asListed(view.reason)}` : open, ['workspace.no-view']);
}

/** A person reads the text before they agree, and the model's user reads it in the chat: both must see what runs. */
export function hiddenCharacter(text: string): Decision | undefined {
  const plain = stripUnseen(text);
  if (plain === text) return undefined;
  let offset = 0;
  while (text.charAt(offset) === plain.charAt(offset)) offset += 1;
  const code = (text.codePointAt(offset) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return deny('COMMAND_BLOCKED', say`refused at character ${offset + 1}: U+${code}, which hides something from a person who reads it`, [
    'workspace.hidden-character',
  ]);
}

/** Verbs of Banksman's own command line by which people decide. The passphrase and the hidden state hold where a name is not recognised. */
const peoples: Readonly<Record<string, RegExp>> = {
  approvals: /^(?:list|show|approve|deny|watch)$/,
  approvers: /^(?:create|list|revoke)$/,
  hook: /^(?:install|uninstall)$/,
  'auto-approve': /^(?:list|set|remove)$/,
  level: /^(?:get|set)$/,
  runs: /^undo$/,
  sandbox: /^clean$/,
  tokens: /^(?:list|create|revoke)$/,
};
const ownProgram = /(?:^|\/)banksman(?:@[\w.^~-]+)?(?:\.[cm]?js)?$|(?:^|\/)cli\.[cm]?js$/;
const starters = /(?:^|\/)(?:node|nodejs|bun|bunx|deno|npx|electron|code)$/;

/** `approvals approve`; undefined where it is none of them. */
function peoplesVerb(command: Command): string | undefined {
  const texts = command.map(({ text }) => text);
  const own = texts.findIndex((text) => ownProgram.test(text));
  if (own < 0 || (own > 0 && !starters.test(texts[0] ?? ''))) return undefined;
  const verb = texts.findIndex((text, index) => index > own && Object.hasOwn(peoples, text) && peoples[text]?.test(texts[index + 1] ?? ''));
  return verb < 0 ? undefined : `${texts[verb]} ${texts[verb + 1]}`;
}

/** What a rule that asks or refuses says of the line. Where it cannot be told whether it is meant, a person is asked. */
function strictRule(rule: UserRule, commands: readonly Command[], whole: boolean): readonly Decision[] {
  if (rule.effect === 'allow') return [];
  const fits = commands.map((command) => fitOf(rule, command));
  const decision = userDecision(rule);
  if (fits.includes('yes')) return [decision];
  if (whole && !fits.includes('perhaps')) return [];
  return [ask('confirmation_required', say`it cannot be told whether this is meant by ${decision.reason}`, decision.rules)];
}

/** An expansion may stand for one word, for several or for none. */
function fitOf(rule: UserRule, [program, ...rest]: Command): 'yes' | 'no' | 'perhaps' {
  if (program === undefined) return 'no';
  if (!program.known) return 'perhaps';
  const unknown = rest.findIndex(({ known }) => !known);
  const words = [program, ...(unknown < 0 ? rest : rest.slice(0, unknown))].map(({ text }) => text);
  if (unknown < 0 || rule.more === 'any') {
    if (fitsUserRule(rule, words)) return 'yes';
    if (unknown < 0) return 'no';
  }
  const wanted = [rule.program, ...rule.args];
  return words.every((word, index) => word === wanted[index]) ? 'perhaps' : 'no';
}

const plainLine = { nonAscii: true, limits: { length: 10_000, words: 300, commands: 64 } } as const;

/** Every command of a line of plain words falls under a rule that allows it: no expansion, no redirection, nothing unread. */
export function isAllowed(text: string, rules: readonly UserRule[]): boolean {
  const allowing = rules.filter(({ effect }) => effect === 'allow');
  const read = allowing.length === 0 ? undefined : readStrictLine(text, plainLine);
  if (read?.ok !== true) return false;
  const lines = read.pipelines.flatMap(({ commands }) => commands.map(({ words }) => words.map((word) => word.text)));
  return lines.every((words) => allowing.some((rule) => fitsUserRule(rule, words)));
}

// The words that the commands of a line begin with, for people's rules: quotes taken off, substitutions looked into, wrappers followed.
// It is no parser of bash: texts of here-documents, scripts in files and what other programs start are not seen.
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
