/** The `readonly_bash` surface: looking around in the workspace with seven programs. */
import { type Decision, deny, strictest } from '#kernel/decision';
import type { PathFact } from '#kernel/ports/path-facts';
import { maxFileBytes } from '../paths/decide-path.ts';
import { locatePath } from '../paths/locate-path.ts';
import { isSecretPath } from '../paths/secret-files.ts';
import type { WorkspaceView } from '../paths/workspace-view.ts';
import type { Dialect, Pipeline, SimpleCommand, Word } from '../ssh/line.ts';
import { canonicalLine } from '../ssh/line.ts';
import { readStrictLine } from '../ssh/read-line.ts';
import { type CommandDecision, placed } from './command-decision.ts';
import { byProgram, type Judged, judgeLine } from './decide-line.ts';
import { expandPattern } from './expand-pattern.ts';
import { hideSecrets } from './hide-secrets.ts';
import type { FileOperand } from './match-rule.ts';
import { workspaceFile } from './rules/readonly/path-kinds.ts';
import { readonlyRules } from './rules/readonly/readonly-rules.ts';
import type { UserRule } from './user-rule.ts';

const rulesByProgram = byProgram(readonlyRules);

const dialect: Dialect = {
  separators: ['&&', '||', ';'],
  nonAscii: true,
  files: true,
  limits: { length: 8_192, words: 300, commands: 16 },
};

/** Half of what Linux takes as one argument (MAX_ARG_STRLEN); the names that patterns matched and what keeps `grep -r` off secrets count. */
const longestCanonical = 65_536;

/**
 * Whether `text` may run in the workspace, and the canonical text that runs instead of it: every word decoded and quoted, every pattern
 * replaced by the names that it matched, files with secrets left out of recursive searches. Synchronous; looks only through `view.facts`.
 */
export function decideReadonlyCommand(text: string, view: WorkspaceView, userRules: readonly UserRule[] = []): CommandDecision {
  const lexed = readStrictLine(text, dialect);
  if (!lexed.ok) return { decision: deny('COMMAND_BLOCKED', placed(lexed.refusal.offset, lexed.refusal.message), ['readonly.syntax']) };
  const own = userRules.filter((rule) => rule.surface === 'readonly_bash');
  const judged = judgeLine(lexed.pipelines, rulesByProgram, own).map((entry) => settle(entry, view));
  const worst = strictest(judged.map(({ decision }) => decision));
  const decision = { ...worst, rules: [...new Set([...worst.rules, ...judged.flatMap((entry) => entry.decision.rules)])] };
  if (decision.effect === 'deny') return { decision };
  const canonical = canonicalLine(rebuild(lexed.pipelines, judged));
  if (canonical.length <= longestCanonical) return { decision, canonical };
  return { decision: deny('COMMAND_BLOCKED', 'the patterns match too many names; name fewer files', ['readonly.paths']) };
}

interface Settled {
  readonly command: SimpleCommand;
  readonly decision: Decision;
}

/** Looks at the files that a command names and writes its words anew. */
function settle(judged: Judged, view: WorkspaceView): Settled {
  const { command, decision, files } = judged;
  if (decision.effect === 'deny') return { command, decision };
  // SECURITY: whoever allowed the command, a rule of the settings included, the file behind `<` is looked at.
  const named = command.input === undefined ? files : [...files, { word: command.input, use: 'read' as const, kind: workspaceFile }];
  const looked = new Map(named.map((file) => [file.word, lookAt(file, view)]));
  const refused = [...looked.values()].find((entry) => entry.refusal !== undefined)?.refusal;
  if (refused !== undefined) return { command, decision: refused };
  const words = command.words.flatMap((word) => looked.get(word)?.words ?? [literalWord(word)]);
  return { command: { ...command, words: hideSecrets({ ...judged, words }) }, decision };
}

interface Looked {
  readonly words: readonly Word[];
  readonly refusal?: Decision;
}

/** SECURITY: a pattern is replaced by what it matches, and one match that may not be read refuses the whole command. */
function lookAt(file: FileOperand, view: WorkspaceView): Looked {
  const { word } = file;
  const matches = word.glob === undefined ? undefined : expandPattern(word.glob, view);
  if (matches === 'too-many') return { words: [], refusal: refuse(word, 'COMMAND_BLOCKED', `\`${word.text}\` matches too many names`) };
  const paths = matches === undefined || matches.length === 0 ? [word.text] : matches;
  const refusal = paths.map((path) => refusalOf(path, file, view)).find((found) => found !== undefined);
  const words = paths.map((path): Word => ({ text: isSafeName(path, word) ? path : `./${path}`, offset: word.offset, bare: false }));
  return refusal === undefined ? { words } : { words, refusal };
}

/** What was written stays as written; a name that a pattern found must not become an option. */
function isSafeName(path: string, word: Word): boolean {
  return path === word.text || !path.startsWith('-');
}

function refusalOf(path: string, { word, use }: FileOperand, { ground, facts }: WorkspaceView): Decision | undefined {
  const located = locatePath(path, ground);
  if (!located.ok) return refuse(word, located.code, located.message);
  const fact = facts.look(located.raw);
  const bad = factRefusal(fact, use);
  if (bad !== undefined) return refuse(word, bad.code, `\`${word.text}\`: ${bad.message}`);
  const real = 'path' in fact ? fact.path : located.segments;
  if (use === 'read' && fact.kind !== 'directory' && (isSecretPath(located.segments) || isSecretPath(real))) {
    return refuse(word, 'SECRET_FILE', `\`${word.text}\`: the name stands for a secret`);
  }
  return undefined;
}

function factRefusal(fact: PathFact, use: FileOperand['use']): { readonly code: string; readonly message: string } | undefined {
  if (fact.kind === 'outside') return { code: 'SYMLINK_OUTSIDE_WORKSPACE', message: 'leads outside the workspace' };
  if (fact.kind === 'loop') return { code: 'SYMLINK_LOOP', message: 'links form a circle' };
  if (fact.kind === 'unreadable') return { code: 'PATH_UNREADABLE', message: fact.reason };
  if (use === 'read' && fact.kind === 'special')
    return { code: 'NOT_A_REGULAR_FILE', message: 'a device, socket or pipe, which may never end' };
  if (use === 'read' && fact.kind === 'file' && fact.size > maxFileBytes)
    return { code: 'FILE_TOO_LARGE', message: `has ${fact.size} bytes` };
  return undefined;
}

function refuse(word: Word, code: string, message: string): Decision {
  return deny(code, placed(word.offset, message), ['readonly.paths']);
}

/** A pattern where no file stands is the text that it looks like. */
function literalWord(word: Word): Word {
  return word.glob === undefined ? word : { text: word.text, offset: word.offset, bare: false };
}

function rebuild(pipelines: readonly Pipeline[], settled: readonly Settled[]): readonly Pipeline[] {
  let index = 0;
  return pipelines.map((pipeline) => ({
    ...pipeline,
    commands: pipeline.commands.map((command) => {
      const entry = settled[index];
      index += 1;
      return entry?.command ?? command;
    }),
  }));
}
