/** The `ssh` surface: read-only diagnostics on cluster nodes. */
import { deny, strictest } from '#kernel/decision';
import { type CommandDecision, placed } from './command-decision.ts';
import { byProgram, type Judged, judgeLine } from './decide-line.ts';
import { fileRules } from './rules/ssh/file-rules.ts';
import { hostRules } from './rules/ssh/host-rules.ts';
import { networkRules } from './rules/ssh/network-rules.ts';
import { processRules } from './rules/ssh/process-rules.ts';
import { proxmoxRules } from './rules/ssh/proxmox-rules.ts';
import { serviceRules } from './rules/ssh/service-rules.ts';
import { storageRules } from './rules/ssh/storage-rules.ts';
import { textRules } from './rules/ssh/text-rules.ts';
import { canonicalLine } from './strict/canonical-line.ts';
import { lexStrictLine } from './strict/lex-strict-line.ts';
import type { Dialect, Pipeline, SimpleCommand, Word } from './strict/strict-line.ts';
import type { UserRule } from './user-rule.ts';

export const sshRules = [
  ...hostRules,
  ...processRules,
  ...storageRules,
  ...networkRules,
  ...serviceRules,
  ...proxmoxRules,
  ...fileRules,
  ...textRules,
];

const rulesByProgram = byProgram(sshRules);

const dialect: Dialect = { separators: ['&&'], nonAscii: false, limits: { length: 2_000, words: 64, commands: 8 } };

/**
 * Whether `text` may run on a node, and the canonical POSIX shell text that runs instead of it. Pure and synchronous.
 * Refusals name the place and the construct.
 */
export function decideSshCommand(text: string, userRules: readonly UserRule[] = []): CommandDecision {
  const lexed = lexStrictLine(text, dialect);
  if (!lexed.ok) return { decision: deny('COMMAND_BLOCKED', placed(lexed.refusal.offset, lexed.refusal.message), ['ssh.syntax']) };
  const own = userRules.filter((rule) => rule.surface === 'ssh');
  const judged = judgeLine(lexed.pipelines, rulesByProgram, own);
  const decision = withAllRules(judged);
  return decision.effect === 'deny' ? { decision } : { decision, canonical: canonicalLine(settle(lexed.pipelines, judged)) };
}

function withAllRules(judged: readonly Judged[]) {
  const worst = strictest(judged.map(({ decision }) => decision));
  const rules = new Set([...worst.rules, ...judged.flatMap(({ decision }) => decision.rules)]);
  return { ...worst, rules: [...rules] };
}

/** A pattern stays one only where a file may stand; anywhere else it is the text that it looks like. */
function settle(pipelines: readonly Pipeline[], judged: readonly Judged[]): readonly Pipeline[] {
  const files = new Set(judged.flatMap((entry) => entry.files.map((file) => file.word)));
  const settleWord = (word: Word): Word =>
    word.glob === undefined || files.has(word) ? word : { text: word.text, offset: word.offset, bare: false };
  const settleCommand = (command: SimpleCommand): SimpleCommand => ({ ...command, words: command.words.map(settleWord) });
  return pipelines.map((pipeline) => ({ ...pipeline, commands: pipeline.commands.map(settleCommand) }));
}
