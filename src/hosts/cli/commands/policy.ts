/** `banksman policy explain`: every stage's answer for one call, nothing executed. */

import type { Readable, Writable } from 'node:stream';
import type { Config } from '#app/config/config';
import { linesOf } from '#app/store/audit-export';
import { createPolicyCheck, type PolicyCheck } from '#app/workspace/policy-check';
import type { Explanation } from '#kernel/app';
import { Fault, toFault } from '#kernel/errors';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { configOf, looking, withApp } from '../session.ts';
import { agentOf, exitStatus, inputOf } from './call.ts';
import { runReplay } from './replay.ts';

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
