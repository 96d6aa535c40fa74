/**
 * A command line in an agent's own shell. It runs outside of sandbox, view and journal, so that only text could judge it, and text is no boundary: as it
 * comes from the factory nothing runs there but `banksman run`, which has all three. Pure.
 */

import type { OwnShellMode } from '#kernel/agent-call';
import { allow, ask, type Decision, deny } from '#kernel/decision';
import { say } from '#kernel/text/message';
import { readStrictLine } from '../ssh/read-line.ts';
import type { UserRule } from '../user-rules.ts';
import { allOf, hiddenCharacter, isAllowed, strictWords } from './decide-command.ts';

export interface AgentShellGround {
  readonly userRules: readonly UserRule[];
  readonly mode: OwnShellMode;
  /** Words with which a shell starts this very program: `banksman`, or a Node and a file. The first is what agents are told. */
  readonly ownPrograms: readonly (readonly string[])[];
}

/** @param through nothing else may run there, whatever `mode` says */
export function decideAgentShell(text: string, through: boolean, { userRules, mode, ownPrograms }: AgentShellGround): Decision {
  const hidden = hiddenCharacter(text);
  if (hidden !== undefined) return hidden;
  if (isThroughRun(text, ownPrograms)) return allow('allowed', 'what it runs is a call of its own', ['agent.through-run']);
  if (through) return instead(text, ownPrograms);
  // Whether it could only look makes no difference where nothing holds it to that.
  const rules = userRules.filter(({ surface }) => surface !== 'ssh');
  const strict = strictWords(text, rules);
  if (strict.length > 0) return allOf(strict);
  if (
    isAllowed(
      text,
      rules.filter(({ surface }) => surface === 'workspace_command'),
    )
  )
    return allow('allowed', 'a rule of the settings allows each of its commands', ['agent.allowed']);
  if (mode === 'allow') return allow('allowed', '`hooks.shell` lets this agent’s own shell run', ['agent.own-shell']);
  if (mode === 'ask')
    return ask('confirmation_required', say`it runs in the agent’s own shell, outside the sandbox, and cannot be undone`, [
      'agent.own-shell',
    ]);
  return instead(text, ownPrograms);
}

function instead(text: string, ownPrograms: AgentShellGround['ownPrograms']): Decision {
  return deny(
    'USE_BANKSMAN_RUN',
    say`the agent’s own shell is outside the sandbox, so nothing but \`banksman run\` runs there; make the same call with this command: ${runLine(text, ownPrograms)}`,
    ['agent.own-shell'],
  );
}

/** Shown where it is short enough to be repeated as it stands. */
function runLine(text: string, [own = ['banksman']]: AgentShellGround['ownPrograms']): string {
  const line = text.length <= 400 ? quoted(text) : "'COMMAND LINE'";
  return [...own.map(shellWord), 'run', '--', line].join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoted(text);
}

/** What may stand between `run` and `--`. SECURITY: nothing that names another configuration, state or store, and no model. */
const option = /^--(?:network|timeout=\d{1,3})$/;

const oneWord = /^([^'\\\n]+) -- (?:'(?:[^'\\]|\\(?!'))*'|\\')+$/;
const dialect = { nonAscii: true, limits: { length: 10_000, words: 300, commands: 20 } } as const;

/**
 * Nothing but `banksman run … -- COMMAND`, once or several times, in the strict subset of the shell language: no redirection, no expansion. Or one such
 * whose command is one word in single quotes, of any length and any number of lines.
 */
export function isThroughRun(text: string, ownPrograms: AgentShellGround['ownPrograms']): boolean {
  const line = text.trim();
  const whole = oneWord.exec(line)?.[1];
  // SECURITY: to fish a backslash before a closing quote takes that quote away.
  if (whole === undefined && line.includes('\\')) return false;
  const read = readStrictLine(whole === undefined ? line : `${whole} -- x`, dialect);
  if (!read.ok) return false;
  const commands = read.pipelines.flatMap((pipeline) => pipeline.commands);
  return commands.every(({ words }) => isRun(words, ownPrograms));
}

function isRun(
  words: readonly { readonly text: string; readonly glob?: unknown }[],
  ownPrograms: AgentShellGround['ownPrograms'],
): boolean {
  const texts = words.map(({ text, glob }) => (glob === undefined ? text : ''));
  return ownPrograms.some((own) => {
    const [verb, ...rest] = texts.slice(own.length);
    if (verb !== 'run' || !own.every((word, index) => texts[index] === word)) return false;
    const end = rest.indexOf('--');
    return end >= 0 && end < rest.length - 1 && rest.slice(0, end).every((word) => option.test(word));
  });
}
