/** Where MCP clients keep their servers, as their manuals say. Data: `banksman connect`, the editor's command and docs/mcp.md show the same. */
import { join } from 'node:path';

/** Where an entry stands in a file. */
export interface Place {
  /** `json` with comments and trailing commas, as most of these programs read it. */
  readonly format: 'json' | 'toml';
  /** The key at the top under which entries stand by their names. */
  readonly key: string;
}

/** How a server is started. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** Whose files. */
export interface Home {
  /** The user's directory. */
  readonly home: string;
  /** Where programs of this system keep a user's settings: `$XDG_CONFIG_HOME`, `~/Library/Application Support`, `%APPDATA%`. */
  readonly settings: string;
  /** The same for programs that follow XDG on macOS, too. */
  readonly xdg: string;
}

export interface McpClient {
  /** The word for it on the command line. */
  readonly id: string;
  readonly name: string;
  /** The user's own file. */
  readonly user: (home: Home) => string;
  /** A project's file, below its folder; undefined: it has none. */
  readonly project?: string;
  readonly place: Place;
  /** Whether it starts servers in the project's folder. Where not, the workspace has to be named. */
  readonly startsInProject: boolean;
  readonly entry: (server: ServerCommand) => object;
}

const plain = ({ command, args }: ServerCommand) => ({ command, args });
const mcpServers: Place = { format: 'json', key: 'mcpServers' };

/** By which name clients know us. */
export const serverName = 'banksman';

export const mcpClients: readonly McpClient[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    user: ({ home }) => join(home, '.claude.json'),
    project: '.mcp.json',
    place: mcpServers,
    startsInProject: true,
    entry: (server) => ({ type: 'stdio', ...plain(server) }),
  },
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    user: ({ settings }) => join(settings, 'Claude', 'claude_desktop_config.json'),
    place: mcpServers,
    startsInProject: false,
    entry: plain,
  },
  {
    id: 'codex',
    name: 'Codex',
    user: ({ home }) => join(home, '.codex', 'config.toml'),
    project: '.codex/config.toml',
    place: { format: 'toml', key: 'mcp_servers' },
    startsInProject: true,
    entry: plain,
  },
  {
    id: 'copilot',
    name: 'Copilot CLI',
    user: ({ home }) => join(home, '.copilot', 'mcp-config.json'),
    place: mcpServers,
    startsInProject: true,
    entry: (server) => ({ type: 'local', ...plain(server), tools: ['*'] }),
  },
  {
    id: 'cursor',
    name: 'Cursor',
    user: ({ home }) => join(home, '.cursor', 'mcp.json'),
    project: '.cursor/mcp.json',
    place: mcpServers,
    startsInProject: true,
    entry: plain,
  },
  {
    id: 'gemini',
    name: 'Gemini CLI',
    user: ({ home }) => join(home, '.gemini', 'settings.json'),
    project: '.gemini/settings.json',
    place: mcpServers,
    startsInProject: true,
    entry: plain,
  },
  {
    id: 'junie',
    name: 'JetBrains (Junie)',
    user: ({ home }) => join(home, '.junie', 'mcp', 'mcp.json'),
    project: '.junie/mcp/mcp.json',
    place: mcpServers,
    startsInProject: false,
    entry: plain,
  },
  {
    id: 'opencode',
    name: 'opencode',
    user: ({ xdg }) => join(xdg, 'opencode', 'opencode.json'),
    project: 'opencode.json',
    place: { format: 'json', key: 'mcp' },
    startsInProject: true,
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
  },
  {
    id: 'qwen',
    name: 'Qwen Code',
    user: ({ home }) => join(home, '.qwen', 'settings.json'),
    project: '.qwen/settings.json',
    place: mcpServers,
    startsInProject: true,
    entry: plain,
  },
  {
    id: 'vscode',
    name: 'VS Code',
    user: ({ settings }) => join(settings, 'Code', 'User', 'mcp.json'),
    project: '.vscode/mcp.json',
    place: { format: 'json', key: 'servers' },
    startsInProject: true,
    entry: (server) => ({ type: 'stdio', ...plain(server) }),
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    user: ({ home }) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    place: mcpServers,
    startsInProject: false,
    entry: plain,
  },
  {
    id: 'zed',
    name: 'Zed',
    user: ({ xdg }) => join(xdg, 'zed', 'settings.json'),
    project: '.zed/settings.json',
    place: { format: 'json', key: 'context_servers' },
    startsInProject: true,
    entry: (server) => ({ source: 'custom', ...plain(server) }),
  },
];

export function homeOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform, home: string): Home {
  const xdg = env['XDG_CONFIG_HOME'] || join(home, '.config');
  if (platform === 'darwin') return { home, xdg, settings: join(home, 'Library', 'Application Support') };
  if (platform === 'win32') return { home, xdg: env['APPDATA'] ?? xdg, settings: env['APPDATA'] ?? join(home, 'AppData', 'Roaming') };
  return { home, xdg, settings: xdg };
}

/** What an otherwise empty file of that client would hold, to be written into one by hand. */
export function entryText({ place: { format, key }, entry }: Pick<McpClient, 'place' | 'entry'>, server: ServerCommand): string {
  if (format === 'toml') return tomlTable(`${key}.${serverName}`, entry(server));
  return `${JSON.stringify({ [key]: { [serverName]: entry(server) } }, null, 2)}\n`;
}

/** TOML's basic strings and JSON's escape alike. */
export function tomlTable(table: string, entry: object): string {
  return [`[${table}]`, ...Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`), ''].join('\n');
}

interface OtherClient {
  readonly label: string;
  /** Where the text goes, for people. */
  readonly description: string;
  readonly text: string;
}

/** What clients understand that are not in the table. */
export function otherClients(server: ServerCommand): readonly OtherClient[] {
  const http = { type: 'http', url: 'http://127.0.0.1:7331/mcp', headers: { Authorization: 'Bearer TOKEN' } };
  return [
    { label: 'Any other, over stdio', description: 'as its manual says', text: entryText({ place: mcpServers, entry: plain }, server) },
    {
      label: 'Any, over HTTP',
      description: 'with `banksman serve --http 127.0.0.1:7331` running and a token of `banksman tokens create NAME`',
      text: entryText({ place: mcpServers, entry: () => http }, server),
    },
  ];
}
