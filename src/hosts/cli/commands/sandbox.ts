/** `banksman sandbox stats|clean`: the agents' own directories. */
import { withPersonaControl } from '#app/workspace/open-workspace';
import { showPlainly } from '#kernel/text/text';
import { type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { configOf, stateDirOf } from '../session.ts';

export async function runSandbox([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  if (verb === 'stats') return stats(options);
  if (verb === 'clean') return clean(options);
  throw noSuchVerb('sandbox', ['stats', 'clean'], verb);
}

async function stats(options: CommandOptions): Promise<number> {
  const { config } = await configOf(options);
  const accounts = await withPersonaControl({ config, stateDir: stateDirOf(options), looks: true }, (control) => control.stats());
  const rows = accounts.map(({ agentId, bytes, files, lastUsed }) => ({
    agent: agentId,
    bytes,
    files,
    last_used: new Date(lastUsed).toISOString(),
  }));
  if (options.json) printJson(rows);
  else if (rows.length === 0) printText('no agent has a sandbox');
  else
    for (const row of rows)
      printText(`${megabytes(row.bytes)}  ${String(row.files).padStart(6)} files  used ${row.last_used}  ${showPlainly(row.agent)}`);
  return 0;
}

async function clean(options: CommandOptions): Promise<number> {
  const { config } = await configOf(options);
  const cleaned = await withPersonaControl({ config, stateDir: stateDirOf(options) }, (control) => control.clean(options.all === true));
  if (options.json) printJson(cleaned);
  else printText(`${cleaned.sandboxes} ${cleaned.sandboxes === 1 ? 'sandbox' : 'sandboxes'} removed, ${megabytes(cleaned.bytes).trim()}`);
  return 0;
}

function megabytes(bytes: number): string {
  return `${(bytes / (1024 * 1024)).toFixed(1)} MB`.padStart(9);
}
