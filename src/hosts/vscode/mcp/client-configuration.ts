/** What to put where, for MCP clients outside the editor. Data; `docs/mcp.md` shows the same to people. */

/** How this installation's server is started. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface ClientConfiguration {
  readonly client: string;
  /** Where the text goes, for people. */
  readonly place: string;
  text(server: ServerCommand): string;
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const mcpServers = ({ command, args }: ServerCommand) => json({ mcpServers: { banksman: { command, args } } });

export const clientConfigurations: readonly ClientConfiguration[] = [
  {
    client: 'Claude Code',
    place: 'run it in a terminal',
    text: ({ command, args }) => `claude mcp add --scope user banksman -- ${[command, ...args].map(shellWord).join(' ')}\n`,
  },
  {
    client: 'Codex',
    place: '~/.codex/config.toml',
    // TOML's basic strings and JSON's escape alike.
    text: ({ command, args }) => `[mcp_servers.banksman]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
  },
  { client: 'Cursor', place: '~/.cursor/mcp.json', text: mcpServers },
  { client: 'Claude Desktop', place: 'claude_desktop_config.json', text: mcpServers },
  { client: 'Gemini CLI', place: '~/.gemini/settings.json', text: mcpServers },
  { client: 'Windsurf', place: '~/.codeium/windsurf/mcp_config.json', text: mcpServers },
  {
    client: 'VS Code, another editor or machine',
    place: 'mcp.json; not for this window, where the tools are already',
    text: ({ command, args }) => json({ servers: { banksman: { type: 'stdio', command, args } } }),
  },
  {
    client: 'Zed',
    place: 'settings.json',
    text: ({ command, args }) => json({ context_servers: { banksman: { source: 'custom', command, args } } }),
  },
  { client: 'Any other, over stdio', place: 'as its manual says', text: mcpServers },
  {
    client: 'Any, over HTTP',
    place: 'with `banksman serve --http 127.0.0.1:7331` running and a token of `banksman tokens create NAME`',
    text: () =>
      json({ mcpServers: { banksman: { type: 'http', url: 'http://127.0.0.1:7331/mcp', headers: { Authorization: 'Bearer TOKEN' } } } }),
  },
];

/** For POSIX shells and PowerShell alike; nothing is quoted that needs no quotes. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
