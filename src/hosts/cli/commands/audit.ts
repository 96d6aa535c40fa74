/** `banksman audit tail`; `verify` and `export` have files of their own. */
import type { AuditRecord } from '#kernel/audit-event';
import { isJsonObject } from '#kernel/json';
import { showPlainly } from '#kernel/text';
import { badUsage, type CommandOptions, operands, wholeNumber } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { withApp } from '../session.ts';
import { exportTrail } from './audit-export.ts';
import { verifyFile, verifyStore } from './audit-verify.ts';

export async function runAudit([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'verify' && words.length > 0) return verifyFile(words, options);
  operands(words, []);
  if (verb === 'tail') return tail(options);
  if (verb === 'verify') return verifyStore(options);
  if (verb === 'export') return exportTrail(options);
  throw badUsage(`\`audit\` takes \`tail\`, \`verify\` or \`export\`, not \`${verb ?? 'nothing'}\``);
}

async function tail(options: CommandOptions): Promise<number> {
  const count = wholeNumber(options.count ?? '20', 'count', { min: 1, max: 100_000 });
  return withApp(options, async (app) => {
    const records = await app.audit.tail(count);
    for (const record of records) {
      if (options.json) printJson(record);
      else printText(line(record));
    }
    return 0;
  });
}

function line({ sequence, time, name, attributes }: AuditRecord): string {
  const agent = isJsonObject(attributes['agent']) ? attributes['agent'] : {};
  const facts = [attributes['gen_ai.tool.name'], attributes['request_id'], attributes['status'], attributes['code'], agent['id']];
  const what = facts.filter((fact): fact is string => typeof fact === 'string' && fact !== '');
  return `${String(sequence).padStart(6)}  ${time}  ${name.padEnd(18)} ${showPlainly(what.join('  '))}`;
}
