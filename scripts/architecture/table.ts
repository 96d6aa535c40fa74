/**
 * The import table of the architecture as data: what each folder of `src` may import. `docs/architecture.md` shows it to people.
 * Whatever is not named here is forbidden, unlisted folders included.
 */

/** Sets of Node's own modules that are allowed together. */
export const builtinGroups = {
  /** Reach nothing outside the process and keep no time. */
  harmless: ['assert', 'buffer', 'events', 'path', 'stream', 'string_decoder', 'url', 'util'],
  system: ['fs', 'os', 'perf_hooks', 'process', 'timers', 'zlib'],
  sockets: ['dgram', 'dns', 'net', 'tls'],
  /** Not for clients: the editor replaces their agents, and pinning with them (docs/adr/0004). */
  servers: ['http', 'https'],
};
const { harmless, system, sockets, servers } = builtinGroups;

export interface FolderRule {
  /** Below `src/`. The longest match decides, so `hosts/mcp` comes before `hosts`. */
  readonly folder: string;
  /** Other folders, by subpath import. */
  readonly folders: readonly string[];
  /** npm packages, subpaths included. */
  readonly packages: readonly string[];
  /** Node's own modules without `node:`, submodules included (`fs` covers `fs/promises`). */
  readonly builtins: readonly string[];
  /** Files of data outside `src/`, from the root. Left out: none. */
  readonly data?: readonly string[];
}

const stages = ['identity', 'policy', 'approval', 'execution', 'redaction', 'audit'];

export const importTable: readonly FolderRule[] = [
  { folder: 'kernel', folders: [], packages: ['zod'], builtins: [] },
  { folder: 'identity', folders: ['kernel'], packages: [], builtins: ['crypto', 'os'] },
  // Pure: no file, clock, network or process; `.oxlintrc.json` closes the doors that need no import.
  { folder: 'policy', folders: ['kernel'], packages: ['zod'], builtins: [] },
  { folder: 'redaction', folders: ['kernel'], packages: ['@secretlint'], builtins: [] },
  { folder: 'audit', folders: ['kernel'], packages: [], builtins: ['crypto'] },
  { folder: 'approval', folders: ['kernel'], packages: [], builtins: ['crypto'] },
  { folder: 'files', folders: ['kernel'], packages: [], builtins: [...harmless, 'fs'] },
  { folder: 'execution', folders: ['kernel', 'files'], packages: [], builtins: [...harmless, ...system, 'child_process', 'crypto'] },
  { folder: 'pipeline', folders: ['kernel', ...stages], packages: ['zod'], builtins: ['crypto'] },
  // Digests bind a page's cursor to its query.
  { folder: 'tools', folders: ['kernel'], packages: ['zod'], builtins: ['crypto'] },
  {
    folder: 'connectors',
    folders: ['kernel', 'files'],
    packages: ['re2js', 'ssh2', 'undici', 'zod'],
    builtins: [...harmless, ...system, ...sockets, 'crypto'],
  },
  // The worker computes the chain's hashes itself, inside the transaction: it needs audit's pure functions.
  {
    folder: 'stores',
    folders: ['kernel', 'files', 'audit'],
    packages: ['iovalkey', 'zod'],
    builtins: [...harmless, ...system, 'crypto', 'sqlite', 'worker_threads'],
  },
  {
    folder: 'app',
    folders: ['kernel', 'files', ...stages, 'pipeline', 'tools', 'connectors', 'stores'],
    packages: ['jsonc-parser', 'qr', 'smol-toml', 'zod'],
    builtins: [...harmless, ...system, 'crypto', 'worker_threads'],
  },
  { folder: 'demo', folders: ['kernel'], packages: ['ssh2'], builtins: [...harmless, ...system, ...sockets, ...servers, 'crypto'] },
  {
    folder: 'hosts/service',
    folders: ['kernel', 'app'],
    packages: ['zod'],
    builtins: [...harmless, ...system, 'net', 'child_process', 'http', 'crypto'],
  },
  {
    folder: 'hosts/hook',
    folders: ['kernel', 'app', 'files'],
    packages: [],
    builtins: [...harmless, ...system, 'child_process', 'crypto', 'net'],
  },
  { folder: 'hosts/witness', folders: ['kernel', 'app'], packages: [], builtins: ['http', 'net'] },
  { folder: 'hosts/vscode', folders: ['kernel', 'app'], packages: ['vscode', 'zod'], builtins: [...harmless, ...system, 'crypto'] },
  {
    folder: 'hosts/mcp',
    folders: ['kernel', 'app'],
    packages: ['@modelcontextprotocol', 'zod'],
    builtins: [...harmless, ...system, ...servers, 'crypto'],
  },
  { folder: 'hosts/page', folders: ['kernel', 'app'], packages: [], builtins: [...harmless, 'fs', ...servers, 'crypto'] },
  {
    folder: 'hosts/cli',
    folders: ['kernel', 'app'],
    packages: ['zod'],
    builtins: [...harmless, ...system, 'crypto', 'readline', 'tty', 'v8'],
  },
];

export interface FileException {
  /** Below `src/`. */
  readonly file: string;
  readonly builtins?: readonly string[];
  readonly folders?: readonly string[];
  /** Files of data outside `src/`, from the root. */
  readonly data?: readonly string[];
  readonly why: string;
}

/** Single files that may import more than their folder. Each says why. */
export const fileExceptions: readonly FileException[] = [
  {
    file: 'hosts/page/german.ts',
    data: ['media/l10n/bundle.l10n.de.json'],
    why: 'the German texts of the editor are those of the page, too; loaded with the first German reader',
  },
  {
    file: 'hosts/cli/newer-node.ts',
    builtins: ['child_process', 'module'],
    why: 'under a Node that is too old the program starts itself again with a newer one, before anything else is loaded',
  },
  {
    file: 'hosts/cli/reader-gone.ts',
    builtins: ['child_process'],
    why: 'GNU `tail` sees that nobody reads the output any more; Node cannot ask a pipe',
  },
  {
    file: 'app/clients/editor-settings.ts',
    builtins: ['net'],
    why: 'between a window and the MCP servers that it starts; neither host may import the other',
  },
  {
    file: 'app/demo.ts',
    folders: ['demo'],
    why: 'the one way to the demo cluster',
  },
  {
    file: 'app/plans/twin.ts',
    folders: ['demo'],
    why: 'the emulator that plans are rehearsed on; loaded when one is proposed',
  },
  {
    file: 'hosts/cli/commands/serve.ts',
    folders: ['hosts/mcp'],
    why: '`banksman mcp` and `banksman serve` are the MCP host over stdio and HTTP; loaded when asked for',
  },
  {
    file: 'hosts/cli/commands/service.ts',
    folders: ['hosts/service'],
    why: '`banksman service` installs and runs the service; loaded when asked for',
  },
  {
    file: 'hosts/cli/main.ts',
    folders: ['hosts/hook'],
    why: '`banksman hook AGENT` is answered before anything else is loaded',
  },
  {
    file: 'hosts/cli/commands/hook.ts',
    folders: ['hosts/hook'],
    why: 'the process behind hooks, and installing them; loaded when asked for',
  },
  {
    file: 'hosts/cli/completions.ts',
    folders: ['hosts/hook'],
    why: 'the names of agents that can be typed behind `hook`; loaded when asked for',
  },
  {
    file: 'hosts/cli/commands/doctor.ts',
    folders: ['hosts/hook'],
    why: '`doctor` sees hooks that were taken out or switched off',
  },
  {
    file: 'hosts/vscode/hooks/answer-hooks.ts',
    folders: ['hosts/hook'],
    why: 'a window answers the hook of the agent that runs in it; loaded with its first App',
  },
  {
    file: 'hosts/vscode/hooks/agent-standing.ts',
    folders: ['hosts/hook'],
    why: '*Doctor* sees hooks that were taken out or switched off; loaded when asked for',
  },
  {
    file: 'hosts/vscode/hooks/govern-agents.ts',
    folders: ['hosts/hook'],
    why: '*Govern This Editor’s Agents…* installs the same hooks; loaded when asked for',
  },
  {
    file: 'hosts/cli/commands/page.ts',
    folders: ['hosts/page'],
    why: '`banksman page` serves the page for who has no service; loaded when asked for',
  },
  {
    file: 'hosts/cli/commands/witness.ts',
    folders: ['hosts/witness'],
    why: '`banksman witness serve` answers logs elsewhere; loaded when asked for',
  },
  {
    file: 'hosts/service/run-service.ts',
    folders: ['hosts/page'],
    why: 'the service serves the page; loaded where its configuration names one',
  },
];

/** Files below `src/` that may only be imported by `await import(…)`: what they bring is loaded when it is asked for. */
export const lazyFiles: readonly string[] = [
  'app/demo.ts',
  'app/plans/twin.ts',
  'app/sinks/tell-trail.ts',
  'hosts/service/index.ts',
  'hosts/mcp/serve-stdio.ts',
  'hosts/mcp/http/serve-http.ts',
  'hosts/page/start-page.ts',
  'hosts/witness/serve-witness.ts',
  'stores/valkey/open-valkey-store.ts',
];
