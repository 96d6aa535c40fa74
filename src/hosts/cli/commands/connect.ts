/** `banksman connect`: writes this server into an MCP client's own configuration, or takes it out again. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { entryIn, withEntry } from '#app/clients/edit-entry';
import { entryText, homeOf, type McpClient, mcpClients, type ServerCommand, serverName } from '#app/clients/mcp-clients';
import { writeWhole } from '#app/config/config-file';
import { Fault } from '#kernel/errors';
import { showPlainly } from '#kernel/text/text';
import { unifiedDiff } from '#kernel/text/unified-diff';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { untilStopped } from '../session.ts';
import { withTerminal } from '../terminal.ts';

export async function runConnect(words: readonly string[], options: CommandOptions): Promise<number> {
  const [name = ''] = operands(words, ['CLIENT']);
  if (name === 'list') return list(options);
  const client = mcpClients.find(({ id }) => id === name);
  if (client === undefined)
    throw badUsage(`\`connect\` takes \`list\` or ${mcpClients.map(({ id }) => `\`${id}\``).join(', ')}, not \`${showPlainly(name, 40)}\``);
  if (options.print === true && options.remove === true) throw badUsage('`--print` and `--remove` exclude each other');
  const server = serverFor(client, options);
  if (options.print === true) {
    printText(entryText(client, server).trimEnd());
    return 0;
  }
  return change(client, fileOf(client, options), options.remove === true ? undefined : server);
}

function list({ json }: CommandOptions): number {
  const rows = mcpClients.map((client) => ({
    client: client.id,
    name: client.name,
    file: fileOf(client, {}),
    project: client.project,
    connected: standing(client),
  }));
  if (json === true) printJson(rows);
  else
    for (const { client, name, file, connected } of rows)
      printText(`${client.padEnd(15)} ${name.padEnd(18)} ${connected.padEnd(13)} ${file}`);
  return 0;
}

/** Of the user's own file. */
function standing(client: McpClient): 'connected' | 'not connected' | 'unreadable' {
  try {
    return entryIn(textOf(fileOf(client, {})), client.place, serverName) === undefined ? 'not connected' : 'connected';
  } catch {
    return 'unreadable';
  }
}

/** @throws {Fault} `bad_usage` */
function fileOf(client: McpClient, { project }: CommandOptions): string {
  if (project !== true) return client.user(homeOf(process.env, process.platform, homedir()));
  if (client.project === undefined) throw badUsage(`${client.name} has no file in a project: leave \`--project\` out`);
  return resolve(client.project);
}

/** As this program was started itself. @throws {Fault} `bad_usage`, `not_installed` */
function serverFor(client: McpClient, { root, remove }: CommandOptions): ServerCommand {
  if (!client.startsInProject && root === undefined && remove !== true)
    throw badUsage(`${client.name} starts its servers anywhere: name the folder to work in with \`--root DIR\``);
  const program = realpathSync(process.argv[1] ?? '.');
  // A cache that npm empties when it likes.
  if (/[\\/]_npx[\\/]/.test(program))
    throw new Fault('not_installed', 'this program runs from the cache of npx, where it will not stay', {
      audience: 'user',
      next: 'install it first: `npm install --global banksman`, or the release’s file',
    });
  return { command: process.execPath, args: [program, 'mcp', ...(root === undefined ? [] : ['--root', resolve(root)])] };
}

/** Shows the difference, and asks. @returns 0 done or nothing to do, 2 a person said no */
async function change(client: McpClient, named: string, server: ServerCommand | undefined): Promise<number> {
  // A link to where somebody keeps their dot files stays one.
  const file = existsSync(named) ? realpathSync(named) : named;
  const before = textOf(file);
  const entry = server === undefined ? undefined : client.entry(server);
  const after = withEntry(before, client.place, serverName, entry);
  if (after === before) {
    printError(`${file}: ${server === undefined ? 'Banksman is not in it' : 'nothing to change'}`);
    return 0;
  }
  return untilStopped((signal) =>
    withTerminal('changing another program’s configuration', signal, async (terminal) => {
      terminal.say(
        `${file}\n${unifiedDiff(before, after)
          .map((line) => `${showPlainly(line, 400)}\n`)
          .join('')}`,
      );
      if (!/^y(?:es)?$/i.test((await terminal.ask('Write it? [y/N] ')).trim())) {
        printError('nothing was changed');
        return 2;
      }
      if (textOf(file) !== before)
        throw new Fault('changed_meanwhile', `${file} was changed meanwhile`, { audience: 'user', next: 'try again' });
      await writeWhole(file, after);
      printText(server === undefined ? `${client.name} knows Banksman no more` : `${client.name} starts Banksman from now on; restart it`);
      return 0;
    }),
  );
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
