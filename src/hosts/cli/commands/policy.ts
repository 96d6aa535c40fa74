/** `banksman policy`: what it would say of one call (explain), of a file of calls (check), and of past ones under other settings (replay). Nothing is executed. */
import { readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import type { Config } from '#app/config/config';
import { parseJson } from '#app/config/config-file';
import { linesOf } from '#app/store/audit-export';
import { createPolicyCheck, type PolicyCheck } from '#app/workspace/policy-check';
import type { Explanation } from '#kernel/app';
import { Fault, reasonOf, toFault } from '#kernel/errors';
import type { ReplayedChange, ReplayedDecision, ReplayReport, RuleSuggestion } from '#kernel/policy-view';
import { showPlainly } from '#kernel/text/text';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { configOf, looking, withApp } from '../session.ts';
import { agentOf, exitStatus, inputOf } from './call.ts';

export async function runPolicy([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'check') return check(words, options);
  if (verb === 'replay') return runReplay(words, options);
  if (verb !== 'explain') throw noSuchVerb('policy', ['check', 'explain', 'replay'], verb);
  const [tool = ''] = operands(words, ['TOOL']);
  const input = await inputOf(options);
  const level = levelIn(options);
  return withApp(
    options,
    async (app) => {
      const explanation = await app.explain({ tool, input, agent: agentOf(options, app.config.defaultModelTier), ...level });
      if (options.json) printJson(inEnglish(explanation));
      else printText(forPeople(explanation));
      return exitStatus[explanation.status];
    },
    looking,
  );
}

/** Programs get the English alone. */
function inEnglish({ decision, stages, ...explanation }: Explanation) {
  const plain = (one: Explanation['decision']) => {
    const { words: _words, ...rest } = one;
    return rest;
  };
  return { ...explanation, decision: plain(decision), stages: stages.map((entry) => ({ ...entry, decision: plain(entry.decision) })) };
}

function levelIn({ level }: CommandOptions): { readonly level?: SecurityLevel } {
  if (level === undefined) return {};
  const known = securityLevels.find((one) => one === level);
  if (known !== undefined) return { level: known };
  throw badUsage(`\`--level\` must be one of ${securityLevels.join(', ')}, not \`${level}\``);
}

/** Without `--root` the current directory is the workspace. */
async function check(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const { config } = await configOf(options);
  return runPolicyCheck({
    ...(options.root === undefined ? {} : { root: options.root }),
    userRules: config.commandRules,
    onFault: printError,
  });
}

function forPeople(explanation: Explanation): string {
  const stages = explanation.stages.map(({ stage, decision, error, detail }) => {
    const rules = decision.rules.length > 0 ? `\n    rules: ${decision.rules.join(', ')}` : '';
    const more = detail === undefined ? '' : `\n    ${JSON.stringify(detail)}`;
    return `${stage.padEnd(10)}${(error ? 'error' : decision.effect).padEnd(6)} ${decision.code}: ${decision.reason}${rules}${more}`;
  });
  return [...stages, `${'in all'.padEnd(10)}${inAll(explanation)} ${explanation.decision.code}`].join('\n');
}

/** A call that is wrong in itself was not refused by any rule. */
function inAll({ status, decision }: Explanation): string {
  return (status === 'error' ? 'error' : decision.effect).padEnd(6);
}

// `banksman policy check`: JSON Lines in, one decision a line out, in the same order.

interface PolicyCheckOptions {
  /** The workspace of `readonly_bash`, `workspace_command` and `path`; default: the current directory. */
  readonly root?: string;
  readonly userRules?: Config['commandRules'];
  readonly input?: Readable;
  readonly output?: Writable;
  /** Told of a malformed line; the lines after it are still answered. */
  onFault(message: string): void;
}

/** Answers every line. 0 when all were answered, 1 when one was malformed. */
export async function runPolicyCheck(options: PolicyCheckOptions): Promise<number> {
  const judge = createPolicyCheck(options.root ?? '.', { userRules: options.userRules, view: { judged: true } });
  const output = options.output ?? process.stdout;
  let status = 0;
  let number = 0;
  for await (const line of linesOf(options.input ?? process.stdin)) {
    number += 1;
    if (line.trim() === '') continue;
    try {
      output.write(`${answer(judge, line)}\n`);
    } catch (thrown) {
      status = 1;
      options.onFault(`line ${number}: ${toFault(thrown).message}`);
    }
  }
  return status;
}

function answer(judge: PolicyCheck, line: string): string {
  const { id, decision } = judge.decide(parseLine(line));
  return JSON.stringify({ id, decision: decision.effect, code: decision.code, reason: decision.reason, rules: decision.rules });
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new Fault('bad_input', 'not a JSON object', { audience: 'user', cause });
  }
}

// `banksman policy replay`: recorded calls under edited settings, before they are saved.

/** @returns 0 nothing becomes looser, 3 something does, 1 the trail does not fit */
async function runReplay(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const edited = await editedIn(options);
  const since = sinceIn(options);
  return withApp(options, async (app, signal) => {
    const report = await app.policy.replay(edited, { signal, ...(since === undefined ? {} : { since }), onProgress: showProgress });
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
    if (options.json) printJson(report);
    else printText(reportWords(report));
    if (!report.trail.ok) return 1;
    return report.looser > 0 ? 3 : 0;
  });
}

function showProgress({ records, of }: { readonly records: number; readonly of?: number }): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${records}${of === undefined ? '' : ` of ${of}`} records\u001b[K`);
}

async function editedIn({ settings }: CommandOptions): Promise<unknown> {
  if (settings === undefined || settings === '') throw badUsage('`policy replay` needs `--settings FILE`');
  if (settings.trimStart().startsWith('{')) return parseJson(settings, '--settings');
  try {
    return parseJson(await readFile(settings, 'utf8'), settings);
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    throw new Fault('cannot_read', `\`--settings\`: ${reasonOf(thrown)}`, { audience: 'user', cause: thrown });
  }
}

/** A day, a time, or an age. */
function sinceIn({ since }: CommandOptions): number | undefined {
  if (since === undefined) return undefined;
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(since) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * (unit === 'd' ? 86_400_000 : 3_600_000);
  const at = /^\d{4}-\d\d-\d\d/.test(since) ? Date.parse(since) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw badUsage(`\`--since\` must be a day, a time or an age (2026-11-01, 7d, 12h), not \`${showPlainly(since, 60)}\``);
}

function reportWords(report: ReplayReport): string {
  const { trail, differs, loosens, calls, judged, same, changed, looser, tighter, byNow, agreement, notJudged, moreChanges, notes } =
    report;
  return [
    ...(trail.ok ? [] : [`THE TRAIL DOES NOT FIT: ${trail.message}. Nothing from there on is used.`, '']),
    differs.length === 0 ? 'the settings are those that count: nothing differs' : `differs: ${differs.join(', ')}`,
    ...loosens.map((line) => `looser, counts only once a person agreed: ${showPlainly(line, 400)}`),
    `${calls} calls${span(report)} in ${report.records} records: ${judged} judged, ${calls - judged} cannot be replayed (${(report.ms / 1000).toFixed(1)} s)`,
    `${same} would be decided as now, ${changed} otherwise: ${looser} looser, ${tighter} tighter`,
    ...(byNow === 0 ? [] : [`${byNow} of the judged rest on what is so now (clusters, the workspace's view), not on what was then`]),
    ...(agreement.known === 0
      ? []
      : [`${agreement.same} of ${agreement.known} are decided by the present settings as the trail says they were`]),
    ...report.changes.flatMap(changeWords),
    ...(moreChanges === 0 ? [] : [`and ${moreChanges} calls more, of other kinds`]),
    ...(notJudged.length === 0 ? [] : ['', 'cannot be replayed:', ...notJudged.map(({ why, calls: count }) => `  ${count}: ${why}`)]),
    ...questionWords(report),
    '',
    ...notes.map((note) => `note: ${note}`),
  ].join('\n');
}

function span({ first, last }: ReplayReport): string {
  return first === undefined || last === undefined ? '' : ` from ${first.slice(0, 16)} to ${last.slice(0, 16)} UTC`;
}

function changeWords({ tool, direction, before, after, calls, byNow, agents, examples }: ReplayedChange): readonly string[] {
  const now = byNow === 0 ? '' : `, ${byNow} by what is so now`;
  return [
    '',
    `${direction.toUpperCase()}  ${tool}  ${before.effect} → ${after.effect}  ${calls} call${calls === 1 ? '' : 's'}${now}`,
    `  now:    ${decisionWords(before)}`,
    `  edited: ${decisionWords(after)}`,
    `  by ${agents.map(({ id, calls: count }) => `${showPlainly(id, 100)} (${count})`).join(', ')}`,
    ...examples.map(({ record, words }) => `  record ${record}: ${words}`),
  ];
}

function decisionWords({ code, reason, rules }: ReplayedDecision): string {
  return showPlainly(`${reason} (${code}${rules.length === 0 ? '' : `; ${rules.join(', ')}`})`, 500);
}

function questionWords({ questions: { asked, approved, denied, red }, suggestions }: ReplayReport): readonly string[] {
  if (asked === 0) return [];
  const sums = `people were asked ${asked} times: ${approved} approved, ${denied} denied; ${red} about red calls, which no rule answers`;
  const none = 'no rule is suggested: nothing that a rule may answer was approved again and again';
  return ['', sums, ...(suggestions.length === 0 ? [none] : suggestions.flatMap(suggestionWords))];
}

function suggestionWords({
  pattern,
  questions,
  approvedBy,
  first,
  last,
  covers,
  alsoLets,
  alsoLetsCalls,
  triedOn,
}: RuleSuggestion): readonly string[] {
  const by = approvedBy.map(({ by: who, questions: count }) => `${showPlainly(who, 100)} (${count})`).join(', ');
  const others = alsoLets.map(({ words, calls, denied }) => `    ${calls}: ${words}${denied === 0 ? '' : ` (denied ${denied} times)`}`);
  return [
    '',
    `RULE  ${showPlainly(pattern, 300)}  would have saved ${questions} questions`,
    `  approved by ${by}, ${first.slice(0, 10)} to ${last.slice(0, 10)}`,
    ...covers.map((words) => `  covers ${words}`),
    alsoLetsCalls === 0 ? '  lets no other recorded call through' : `  lets ${alsoLetsCalls} other recorded calls through, too:`,
    ...others,
    `  red, protected or refused calls that it was tried on: ${triedOn}; it lets none of them through`,
  ];
}
