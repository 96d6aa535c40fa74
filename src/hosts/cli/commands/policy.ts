/** `banksman policy explain`: every stage's answer for one call, nothing executed. */
import type { Explanation } from '#app/app';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { configOf, withApp } from '../session.ts';
import { agentOf, exitStatus, inputOf } from './call.ts';
import { runPolicyCheck } from './policy-check.ts';

export async function runPolicy([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'check') return check(words, options);
  if (verb !== 'explain') throw badUsage(`\`policy\` takes \`check\` or \`explain\`, not \`${verb ?? 'nothing'}\``);
  const [tool = ''] = operands(words, ['TOOL']);
  const input = await inputOf(options);
  return withApp(options, async (app) => {
    const explanation = await app.explain({ tool, input, agent: agentOf(options, app.config.defaultModelTier) });
    if (options.json) printJson(explanation);
    else printText(forPeople(explanation));
    return exitStatus[explanation.status];
  });
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
