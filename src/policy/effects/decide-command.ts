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
import { stripUnseen } from '#kernel/text/text';
import { readStrictLine } from '../ssh/read-line.ts';
import { fitsUserRule, type UserRule, userDecision } from '../user-rules.ts';
import { type Command, readCommands } from './read-commands.ts';

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
    ...(network === true ? [ask('network_blocked', 'this run is to have the network', ['workspace.network'])] : []),
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
  if (own !== undefined) return [deny('COMMAND_BLOCKED', `\`banksman ${own}\` is for people, not for agents`, ['workspace.own-command'])];
  return rules.flatMap((rule) => strictRule(rule, commands, whole));
}

/** The strictest, with the reasons of all that are as strict. */
export function allOf(found: readonly Decision[]): Decision {
  const worst = strictest(found);
  const reasons = found.filter(({ effect }) => effect === worst.effect).map(({ reason }) => reason);
  const decisive = [...worst.rules, ...found.flatMap((decision) => decision.rules)];
  return { ...worst, reason: [...new Set(reasons)].join('; '), rules: [...new Set(decisive)] };
}

/** A view that was looked for in vain: the sandbox holds, so what may only look still cannot write. */
function withoutView(surface: CommandResource['surface'], view: CommandGround['view']): Decision {
  const isReadOnly = surface === 'readonly_bash';
  const held = isReadOnly
    ? 'it runs on the workspace itself, read-only, and not over a view'
    : 'what it changes counts at once and cannot be undone here';
  const open = `what it changes ${isReadOnly ? 'may count' : 'counts'} at once and cannot be undone here: the sandbox does not hold here`;
  return ask('no_view', view?.judged === false ? `${held}: ${view.reason}` : open, ['workspace.no-view']);
}

/** A person reads the text before they agree, and the model's user reads it in the chat: both must see what runs. */
export function hiddenCharacter(text: string): Decision | undefined {
  const plain = stripUnseen(text);
  if (plain === text) return undefined;
  let offset = 0;
  while (text.charAt(offset) === plain.charAt(offset)) offset += 1;
  const code = (text.codePointAt(offset) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return deny('COMMAND_BLOCKED', `refused at character ${offset + 1}: U+${code}, which hides something from a person who reads it`, [
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
  return [ask('confirmation_required', `it cannot be told whether this is meant by ${decision.reason}`, decision.rules)];
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
