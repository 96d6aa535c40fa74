/** `banksman level get|set`: how the action tiers are applied, for everyone on the same store. */
import { showPlainly } from '#kernel/text';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { changeSetting } from '../change-setting.ts';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { withApp } from '../session.ts';

export async function runLevel([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'get') return get(words, options);
  if (verb === 'set') return set(words, options);
  throw badUsage(`\`level\` takes \`get\` or \`set\`, not \`${verb ?? 'nothing'}\``);
}

async function get(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(options, async (app) => {
    const { level, from, by, warning } = await app.security.level();
    if (options.json) printJson({ level, from, ...(by === undefined ? {} : { by }), ...(warning === undefined ? {} : { warning }) });
    else printText(level);
    if (!options.json) printError(by === undefined ? `from the ${from}` : `set by ${showPlainly(by, 100)}`);
    if (warning !== undefined) printError(showPlainly(warning, 1_000));
    return 0;
  });
}

async function set(words: readonly string[], options: CommandOptions): Promise<number> {
  const level = levelOf(operands(words, ['LEVEL'])[0] ?? '');
  return changeSetting('setting the security level', options, (security, signer) => security.setLevel(level, signer));
}

function levelOf(named: string): SecurityLevel {
  const level = securityLevels.find((known) => known === named);
  if (level === undefined) throw badUsage(`the level must be one of ${securityLevels.join(', ')}, not \`${showPlainly(named, 40)}\``);
  return level;
}
