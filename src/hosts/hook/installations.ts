/** Where each agent reads its hooks, and what is written there: one record for each agent. */
import { homedir } from 'node:os';
import path from 'node:path';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';

export const placeKinds = ['managed', 'user', 'project'] as const;
export type PlaceKind = (typeof placeKinds)[number];

/** What each is worth, for people. */
export const worth: Readonly<Record<PlaceKind, string>> = {
  managed: 'root’s file, for every user of this machine: neither a repository nor the agent’s user can switch it off',
  user: 'advice: one committed file of a repository switches it off in most agents, and so does any program of this account',
  project: 'advice, committed with the repository for all who trust it: a change of it asks a person here, and nobody elsewhere',
};

export interface Installation {
  /** Absolute, or below the home or the project. */
  readonly files: Partial<Record<PlaceKind, string>>;
  /** The file with the hook in it. @param before its text; undefined: there is none. @throws {Error} where it is no form that can be kept */
  add(before: string | undefined, command: string, kind: PlaceKind): string;
  /** What the managed file only names, and the text of it. */
  readonly besideManaged?: { readonly file: string; text(command: string): string };
  /** Files of a project or user, with what in them switches a hook off that is not managed; of the editor, one in this folder. */
  readonly switchedOffBy: ReadonlyMap<string, RegExp | ((text: string, folder: string) => boolean)>;
  /** What a managed file has to say as well, where those would switch it off, too. */
  readonly holds?: RegExp;
}

/** `keys` are set besides where it is managed. */
interface JsonHook {
  readonly event: string;
  entry(command: string): JsonValue;
  readonly top?: JsonObject;
  readonly managed?: JsonObject;
}

/** Into an object of lists, one for each event. Comments cannot be kept, so that a file with any is left to a person. */
function jsonHook({ event, entry, top = {}, managed = {} }: JsonHook): Installation['add'] {
  return (before, command, kind) => {
    const now: unknown = before === undefined || before.trim() === '' ? {} : JSON.parse(before);
    if (!isJsonObject(now)) throw new Error('it holds no object');
    const hooks = now['hooks'] ?? {};
    if (!isJsonObject(hooks)) throw new Error('`hooks` in it is no object');
    const others = hooks[event] ?? [];
    if (!Array.isArray(others)) throw new Error(`\`hooks.${event}\` in it is no list`);
    const kept = others.filter((item: JsonValue) => !isOurs(item));
    const after = {
      ...top,
      ...now,
      ...(kind === 'managed' ? over(now, managed) : {}),
      hooks: { ...hooks, [event]: [...kept, entry(command)] },
    };
    return `${JSON.stringify(after, null, indentOf(before))}\n`;
  };
}

/** What is set, with the other keys of an object that is there. */
function over(now: JsonObject, set: JsonObject): JsonObject {
  const values = Object.entries(set).map(([key, value]) => {
    const there = now[key];
    return [key, isJsonObject(there) && isJsonObject(value) ? { ...there, ...value } : value] as const;
  });
  return Object.fromEntries(values);
}

function indentOf(text: string | undefined): string | number {
  return /^\{\r?\n([ \t]+)"/.exec(text ?? '')?.[1] ?? 2;
}

/** An entry that some version of this program wrote. */
export function isOurs(entry: unknown): boolean {
  return /(?:banksman|cli\.cjs'?) hook [a-z-]+|banksman-hook\.js/.test(JSON.stringify(entry) ?? '');
}

const command = (line: string, more: JsonObject) => ({ matcher: '*', hooks: [{ type: 'command', command: line, ...more }] });
const off = /"disableAllHooks"\s*:\s*true/;
/** Keys of `chat.hookFilesLocations` are folders. A window knows better: there what counts is asked for. */
function vscodeOff(text: string, folder: string): boolean {
  const { 'chat.useHooks': used, 'chat.hookFilesLocations': read } = withoutComments(text);
  return used === false || (isJsonObject(read) && read[folder] === false);
}

const quotedText = '("(?:[^"\\\\]|\\\\.)*")';
const comment = new RegExp(`${quotedText}|//[^\n]*|/\\*[^]*?\\*/`, 'g');
const lastComma = new RegExp(`${quotedText}|,(?=\\s*[}\\]])`, 'g');

/** Settings of the editor, which may have comments and a comma behind the last; nothing where they cannot be read. */
function withoutComments(text: string): JsonObject {
  const keep = (_all: string, quoted?: string) => quoted ?? '';
  try {
    const value: unknown = JSON.parse(
      text
        .replace(/^\uFEFF/, '')
        .replace(comment, keep)
        .replace(lastComma, keep),
    );
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

const disabled = /"hooksConfig"\s*:\s*\{[^}]*"enabled"\s*:\s*false|"disableAllHooks"\s*:\s*true/;

/** Below `/etc` it reads no plugins but those that its configuration there names. */
const opencodeManaged = '/etc/opencode/banksman-hook.js';

export const installations: Readonly<Record<string, Installation>> = {
  'claude-code': {
    files: { managed: '/etc/claude-code/managed-settings.json', user: '~/.claude/settings.json', project: '.claude/settings.json' },
    add: jsonHook({
      event: 'PreToolUse',
      entry: (line) => command(line, { timeout: 60, onFailure: 'block' }),
      managed: { allowManagedHooksOnly: true },
    }),
    switchedOffBy: new Map([
      ['.claude/settings.json', off],
      ['.claude/settings.local.json', off],
      ['~/.claude/settings.json', off],
    ]),
  },
  codex: {
    files: { managed: '/etc/codex/requirements.toml', user: '~/.codex/hooks.json', project: '.codex/hooks.json' },
    add: (before, line, kind) =>
      kind === 'managed'
        ? codexRequirements(before, line)
        : jsonHook({ event: 'PreToolUse', entry: (one) => command(one, { timeout: 60 }) })(before, line, kind),
    switchedOffBy: new Map([
      ['.codex/config.toml', /^\s*(?:features\.)?hooks\s*=\s*false/m],
      ['~/.codex/config.toml', /^\s*(?:features\.)?hooks\s*=\s*false/m],
    ]),
    holds: /^\s*hooks\s*=\s*true/m,
  },
  copilot: {
    files: {
      managed: '/etc/github-copilot/policy.d/banksman.json',
      user: '~/.copilot/hooks/banksman.json',
      project: '.github/hooks/banksman.json',
    },
    add: jsonHook({ event: 'preToolUse', entry: (bash) => ({ type: 'command', bash, timeoutSec: 30 }), top: { version: 1 } }),
    switchedOffBy: new Map([
      ['.github/copilot/settings.json', off],
      ['~/.copilot/settings.json', off],
    ]),
  },
  gemini: {
    files: { managed: '/etc/gemini-cli/settings.json', user: '~/.gemini/settings.json', project: '.gemini/settings.json' },
    add: jsonHook({
      event: 'BeforeTool',
      entry: (line) => command(line, { name: 'banksman', timeout: 60_000 }),
      // A repository says `false`, and this file is read after it.
      managed: { hooksConfig: { enabled: true } },
    }),
    switchedOffBy: new Map([
      ['.gemini/settings.json', disabled],
      ['~/.gemini/settings.json', disabled],
    ]),
    holds: /"hooksConfig"\s*:\s*\{[^}]*"enabled"\s*:\s*true/,
  },
  qwen: {
    files: { managed: '/etc/qwen-code/settings.json', user: '~/.qwen/settings.json', project: '.qwen/settings.json' },
    add: jsonHook({
      event: 'PreToolUse',
      entry: (line) => command(line, { name: 'banksman', timeout: 60_000 }),
      managed: { disableAllHooks: false },
    }),
    switchedOffBy: new Map([
      ['.qwen/settings.json', disabled],
      ['~/.qwen/settings.json', disabled],
    ]),
    holds: /"disableAllHooks"\s*:\s*false/,
  },
  cursor: {
    files: { managed: '/etc/cursor/hooks.json', user: '~/.cursor/hooks.json', project: '.cursor/hooks.json' },
    add: jsonHook({ event: 'preToolUse', entry: (line) => ({ command: line, timeout: 60, failClosed: true }), top: { version: 1 } }),
    switchedOffBy: new Map(),
  },
  opencode: {
    files: {
      managed: '/etc/opencode/opencode.json',
      user: '~/.config/opencode/plugin/banksman.js',
      project: '.opencode/plugin/banksman.js',
    },
    add: (before, line, kind) => (kind === 'managed' ? withPlugin(before, `file://${opencodeManaged}`) : opencodePlugin(line)),
    besideManaged: { file: opencodeManaged, text: opencodePlugin },
    switchedOffBy: new Map(),
  },
  vscode: {
    files: { user: '~/.copilot/hooks/banksman-vscode.json', project: '.github/hooks/banksman-vscode.json' },
    add: jsonHook({ event: 'PreToolUse', entry: (line) => ({ type: 'command', command: line, timeout: 30 }) }),
    switchedOffBy: new Map(
      ['.vscode', '~/.config/Code/User', '~/Library/Application Support/Code/User'].map((place) => [`${place}/settings.json`, vscodeOff]),
    ),
  },
};

/** Keys of the top stand before the first table, ours behind all others. A repository says `hooks = false`, which a required feature overrules. */
function codexRequirements(before: string | undefined, line: string): string {
  const rest = before ?? '';
  if (/^\s*(?:\[+\s*hooks\b|allow_managed_hooks_only\b|(?:features\.)?hooks\s*[.=])/m.test(rest))
    throw new Error('it says something about hooks already');
  if (/^\s*features\s*[.=]/m.test(rest)) throw new Error('its `features` are no table');
  const folder = '/etc/codex/hooks';
  const tables = `[hooks]\nmanaged_dir = "${folder}"\n\n[[hooks.PreToolUse]]\nmatcher = ".*"\n\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = ${JSON.stringify(line)}\ntimeout = 60\n`;
  const features = /^[ \t]*\[[ \t]*features[ \t]*\].*$/m;
  const required = features.test(rest)
    ? `\n${rest.trimEnd().replace(features, '$&\nhooks = true')}\n`
    : `${rest === '' ? '' : `\n${rest.trimEnd()}\n`}\n[features]\nhooks = true\n`;
  return `allow_managed_hooks_only = true\n${required}\n${tables}`;
}

function withPlugin(before: string | undefined, plugin: string): string {
  const now: unknown = before === undefined || before.trim() === '' ? {} : JSON.parse(before);
  if (!isJsonObject(now)) throw new Error('it holds no object');
  const others = now['plugin'] ?? [];
  if (!Array.isArray(others)) throw new Error('`plugin` in it is no list');
  const kept = others.filter((item: JsonValue) => !isOurs(item));
  return `${JSON.stringify({ ...now, plugin: [...kept, plugin] }, null, indentOf(before))}\n`;
}

function opencodePlugin(line: string): string {
  return `// Written by \`banksman hook install opencode\`: asks before a tool is used, and throws where the answer is not yes.
import { spawn } from ${JSON.stringify('node:child_process')};

const command = ${JSON.stringify(line)};

function ask(event) {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    let why = '';
    child.stdout.on('data', (part) => (said += part));
    child.stderr.on('data', (part) => (why += part));
    child.on('error', (error) => resolve(error.message));
    child.on('close', (status) => {
      if (status !== 0) return resolve(why || 'Banksman: the hook ended with ' + status);
      if (said.trim() === '') return resolve(undefined);
      try {
        resolve(JSON.parse(said).reason ?? said);
      } catch {
        resolve(said);
      }
    });
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(event) + '\\n');
  });
}

export const Banksman = async ({ directory }) => ({
  'tool.execute.before': async (input, output) => {
    const refusal = await ask({ tool_name: input.tool, tool_input: output.args, cwd: directory });
    if (refusal !== undefined) throw new Error(refusal);
  },
});
`;
}

/** @param project absolute */
export function fileAt(named: string, project: string): string {
  return named.startsWith('~/') ? path.join(homedir(), named.slice(2)) : path.resolve(project, named);
}
