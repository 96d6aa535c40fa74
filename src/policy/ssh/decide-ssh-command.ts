/** The `ssh` surface: read-only diagnostics on cluster nodes. Default deny; strictest wins. */
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import { type CommandDecision, placed } from '../commands/command-decision.ts';
import { isNeverLifted } from '../commands/never-lifted.ts';
import { fitsUserRule, type UserRule } from '../commands/user-rule.ts';
import { instead } from './instead.ts';
import { canonicalLine, type Dialect, type Pipeline, type SimpleCommand, type Word } from './line.ts';
import { matchPage } from './match-page.ts';
import type { Page } from './page.ts';
import { sshPages } from './pages/index.ts';
import { readStrictLine } from './read-line.ts';

const dialect: Dialect = { separators: ['&&', '||', ';'], nonAscii: false, limits: { length: 2_000, words: 64, commands: 12 } };

const pageOf: ReadonlyMap<string, Page> = new Map(sshPages.flatMap((page) => page.names.map((name) => [name, page])));

interface Judged {
  readonly decision: Decision;
  /** The words that name files: only there a pattern stays one. */
  readonly files: readonly Word[];
}

/**
 * Whether `text` may run on a node, and the canonical POSIX shell text that runs instead of it. Pure and synchronous.
 * Refusals name the place and the construct, and what to do instead.
 */
export function decideSshCommand(text: string, userRules: readonly UserRule[] = []): CommandDecision {
  const read = readStrictLine(text, dialect);
  if (!read.ok) {
    const { offset, message } = read.refusal;
    return { decision: deny('COMMAND_BLOCKED', withAdvice(placed(offset, message), text.trim().split(/\s+/)), ['ssh.syntax']) };
  }
  const own = userRules.filter((rule) => rule.surface === 'ssh');
  const judged = read.pipelines.flatMap(({ commands }) => commands.map((command, index) => judge(command, index > 0, own)));
  const worst = strictest(judged.map(({ decision }) => decision));
  const decision = { ...worst, rules: [...new Set([...worst.rules, ...judged.flatMap((entry) => entry.decision.rules)])] };
  return decision.effect === 'deny' ? { decision } : { decision, canonical: canonicalLine(settle(read.pipelines, judged)) };
}

function judge(command: SimpleCommand, piped: boolean, userRules: readonly UserRule[]): Judged {
  const words = command.words.map((word) => word.text);
  const users = userRules.filter((rule) => fitsUserRule(rule, words));
  const stricter = users.filter((rule) => rule.effect !== 'allow').map(userDecision);
  const built = byPage(command, piped);
  const mayLift = built.decision.effect === 'deny' && command.words[0]?.bare === true && !isNeverLifted(words);
  const lifted = mayLift ? users.find((rule) => rule.effect === 'allow') : undefined;
  if (lifted !== undefined) return { files: [], decision: strictest([userDecision(lifted), ...stricter]) };
  return { ...built, decision: strictest([built.decision, ...stricter]) };
}

function byPage({ words: [name, ...rest] }: SimpleCommand, piped: boolean): Judged {
  if (name === undefined) throw new RangeError('a command has a name');
  const words = [name, ...rest].map((word) => word.text);
  const page = name.bare ? pageOf.get(name.text) : undefined;
  if (page === undefined) return refused(name.offset, unknownProgram(name), 'default-deny', words);
  const rule = `ssh.${page.names[0]}`;
  const why = `\`${name.text}\`: ${page.why}`;
  if (!piped && asksForHelp(page, rest)) return { files: [], decision: allow('allowed', why, [rule]) };
  const match = matchPage(page, name, rest, piped);
  if (!match.ok) return refused(match.offset, match.message, rule, words);
  const decision =
    match.ask === undefined ? allow('allowed', why, [rule]) : ask('confirmation_required', `\`${name.text}\`: ${match.ask}`, [rule]);
  return { files: match.files, decision };
}

/** Alone, these print and end in every program of the pages. A program of which the page names no word may take no notice of them. */
function asksForHelp({ options, operands, verbs }: Page, rest: readonly Word[]): boolean {
  const takesWords = options !== undefined || operands !== undefined || verbs !== undefined;
  return takesWords && rest.length === 1 && ['--version', '--help'].includes(rest[0]?.text ?? '');
}

function unknownProgram(name: Word): string {
  if (!name.bare) return 'a program name with quotes, backslashes or a pattern';
  if (name.text.includes('/')) return `\`${name.text.slice(0, 60)}\`: a program named by a path is not the known one`;
  if (name.text.includes('=')) return 'an assignment, which would change how programs run';
  const near = [...pageOf.keys()].filter((known) => known.slice(0, 2) === name.text.slice(0, 2)).slice(0, 8);
  const said = near.length === 0 ? 'such as `df`, `journalctl`, `qm config`' : `of which these begin alike: ${near.join(', ')}`;
  return `\`${name.text.slice(0, 60)}\`, which is not among the ${pageOf.size} known programs that only show, ${said}`;
}

function refused(offset: number, message: string, rule: string, words: readonly string[]): Judged {
  return { decision: deny('COMMAND_BLOCKED', withAdvice(placed(offset, message), words), [rule]), files: [] };
}

function withAdvice(reason: string, words: readonly string[]): string {
  const advice = instead(words);
  return advice === undefined ? reason : `${reason}; ${advice}`;
}

function userDecision(rule: UserRule): Decision {
  const make = { allow, ask, deny }[rule.effect];
  const code = { allow: 'allowed', ask: 'confirmation_required', deny: 'COMMAND_BLOCKED' }[rule.effect];
  return make(code, `the rule \`${rule.id}\` of the settings: ${rule.justification}`, [`user.${rule.id}`]);
}

/** A pattern stays one only where a file may stand; anywhere else it is the text that it looks like. */
function settle(pipelines: readonly Pipeline[], judged: readonly Judged[]): readonly Pipeline[] {
  const files = new Set(judged.flatMap((entry) => entry.files));
  const settleWord = (word: Word): Word =>
    word.glob === undefined || files.has(word) ? word : { text: word.text, offset: word.offset, bare: false };
  const settleCommand = (command: SimpleCommand): SimpleCommand => ({ ...command, words: command.words.map(settleWord) });
  return pipelines.map((pipeline) => ({ ...pipeline, commands: pipeline.commands.map(settleCommand) }));
}
