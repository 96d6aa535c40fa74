/** What an agent asks about, whatever it calls things: its tool, and what that opens, runs or fetches. */
import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentCallKind } from '#kernel/agent-call';
import { Fault } from '#kernel/errors';
import { hasCanonicalForm, isJsonObject, type JsonObject, type JsonValue, textOf } from '#kernel/json';
import type { HookAgent } from './agents.ts';

/** The arguments of the tool that judges it. */
export interface HookCall {
  readonly kind: AgentCallKind;
  readonly input: JsonObject;
  /** As the agent says it. */
  readonly model?: string;
}

/** Whose tool a name means, where that is known: this program's own extension's, or another extension's, whatever the name says. */
export type OwnerOf = (tool: string) => 'own' | 'foreign' | undefined;

/**
 * @param event the agent's own JSON
 * @param ownerOf default: nothing is proven, and so no tool is our own
 * @throws {Fault} `bad_hook_input`: what cannot be understood must not run
 */
export function readCall(agent: HookAgent, event: JsonObject, processCwd: string, ownerOf: OwnerOf = () => undefined): HookCall {
  if (!hasCanonicalForm(event)) throw unreadable('it is no well-formed text');
  const cwd = path.resolve(processCwd, textOf(event['cwd']) ?? '.');
  const asked = toolOf(event) ?? cursorsOwn(event);
  if (asked === undefined) throw unreadable('it names no tool');
  const model = textOf(event['model']);
  return { ...callOf({ agent, cwd, ownerOf }, asked), ...(model === undefined || model === '' ? {} : { model: model.slice(0, 200) }) };
}

function unreadable(why: string): Fault {
  return new Fault('bad_hook_input', `what the agent asks about cannot be understood: ${why}`, { audience: 'operator' });
}

interface Named {
  readonly tool: string;
  readonly given: JsonObject;
}

function toolOf(event: JsonObject): Named | undefined {
  const tool = textOf(event['tool_name']) ?? textOf(event['toolName']) ?? textOf(event['tool']);
  if (tool === undefined || tool === '') return undefined;
  // SECURITY: Cursor names a server's tool bare there, and one of a repository's can have any name.
  if (event['hook_event_name'] === 'beforeMCPExecution') return { tool: `MCP:${tool}`, given: given(event['tool_input']) };
  return { tool, given: given(event['tool_input'] ?? event['toolArgs'] ?? event['toolInput'] ?? event['args']) };
}

/** Cursor's events for one kind each: what is asked about stands in the event itself. */
function cursorsOwn(event: JsonObject): Named | undefined {
  const { command, file_path: file } = event;
  if (typeof command === 'string') return { tool: 'Shell', given: { command } };
  return typeof file === 'string' ? { tool: 'Read', given: { file_path: file } } : undefined;
}

/** Some agents hand over the arguments as text. */
function given(value: JsonValue | undefined): JsonObject {
  if (isJsonObject(value)) return value;
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string') throw unreadable('the arguments are no object');
  try {
    const parsed: unknown = JSON.parse(value);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // A text of its own: a patch, a line.
  }
  return { input: value };
}

interface Reading {
  readonly agent: HookAgent;
  readonly cwd: string;
  readonly ownerOf: OwnerOf;
}

function callOf(reading: Reading, { tool, given: all }: Named): HookCall {
  const inner = wrapped(tool, all);
  // SECURITY: who runs the inner one is whoever brought the outer one: never this program's extension, and another extension where the outer one is its.
  if (inner !== undefined)
    return callOf({ ...reading, ownerOf: () => (reading.ownerOf(tool) === 'foreign' ? 'foreign' : undefined) }, inner);
  const { cwd } = reading;
  const own = { own_tool: tool.slice(0, 200), cwd };
  const kind = kindByName(reading, tool) ?? kindBy(all);
  if (kind === 'shell') return shellCall(own, all);
  return { kind, input: { ...own, ...opened(kind, all, cwd), arguments: kept(all, kind === 'other' ? /^$/ : talk) } };
}

/** undefined: nobody listed it. SECURITY: a tool that another extension calls as one of the agent's own is none of these. */
function kindByName({ agent, ownerOf }: Reading, tool: string): AgentCallKind | undefined {
  const owner = ownerOf(tool);
  if (owner !== undefined) return owner === 'own' ? 'quiet' : undefined;
  return agent.tools.get(tool.toLowerCase()) ?? (agent.mcp.test(tool) ? 'other' : undefined);
}

function opened(kind: AgentCallKind, all: JsonObject, cwd: string): JsonObject {
  if (kind === 'fetch') return { urls: some(urlsIn(all), 'it names no address') };
  if (kind === 'write') return { paths: some(pathsIn(all, cwd), 'it names no file') };
  if (kind !== 'read') return {};
  const paths = pathsIn(all, cwd);
  return { paths: paths.length === 0 ? [cwd] : paths };
}

/** A tool that calls another one by its name. */
function wrapped(tool: string, all: JsonObject): Named | undefined {
  if (!/^(?:tool_call|call_tool|use_tool)$/i.test(tool)) return undefined;
  const name = textOf(all['name']) ?? textOf(all['tool_name']) ?? textOf(all['tool']);
  if (name === undefined || /^(?:tool_call|call_tool|use_tool)$/i.test(name)) throw unreadable('it names no tool');
  return { tool: name, given: given(all['arguments'] ?? all['args'] ?? all['input'] ?? all['tool_input']) };
}

const commandKeys = ['command', 'cmd', 'script', 'code'] as const;
/** Of a tool that is known to be a shell. */
const typedKeys = [...commandKeys, 'input', 'chars', 'text'] as const;

/** A tool that nobody has listed is what its arguments look like, the worst first. */
function kindBy(all: JsonObject): AgentCallKind {
  if (commandKeys.some((key) => commandIn(all[key]) !== undefined)) return 'shell';
  if (pathsIn(all, '/').length > 0) return 'write';
  return urlsIn(all).length > 0 ? 'fetch' : 'other';
}

function shellCall(own: { readonly own_tool: string; readonly cwd: string }, all: JsonObject): HookCall {
  const command = typedKeys.map((key) => commandIn(all[key])).find((text) => text !== undefined);
  if (command === undefined) throw unreadable('it names no command');
  const place = ['workdir', 'cwd', 'directory', 'dir_path']
    .map((key) => textOf(all[key]))
    .find((text) => text !== undefined && text !== '');
  return { kind: 'shell', input: { ...own, command, cwd: path.resolve(own.cwd, place ?? '.') } };
}

/** A line, or words: of `bash -lc LINE` the line. */
function commandIn(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const words = value.filter((word) => typeof word === 'string');
  return words.length === value.length ? (lineOfShell(words) ?? words.map(quoted).join(' ')) : undefined;
}

function lineOfShell([shell = '', option = '', line, ...more]: readonly string[]): string | undefined {
  const isShell = /(?:^|\/)(?:ba|z|da|k)?sh$/.test(shell) && /^-[a-z]*c$/.test(option) && more.length === 0;
  return isShell ? line : undefined;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function some(found: readonly string[], why: string): readonly string[] {
  if (found.length === 0) throw unreadable(why);
  return found;
}

const pathKey =
  /^(?:absolute|dir|file|notebook|target|old|new|source|destination)?_?(?:path|paths|file|files|filename|filepath|directory|uri)$/i;
const patchKeys = ['command', 'patch', 'patchText', 'input', 'diff'] as const;
const patched = /^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm;
const deepest = 8;
const mostItems = 2_000;

/** Absolute, each once. */
function pathsIn(all: JsonObject, cwd: string): readonly string[] {
  const texts = [...named(all, pathKey, deepest), ...patchKeys.flatMap((key) => patchPaths(all[key]))];
  return [...new Set(texts.map((text) => absolute(text, cwd)))];
}

function patchPaths(value: JsonValue | undefined): readonly string[] {
  const text = typeof value === 'string' ? value : undefined;
  return text === undefined ? [] : Array.from(text.matchAll(patched), ([, file = '']) => file.trim());
}

/** Texts under such a key, in lists and below. */
function named(value: JsonValue | undefined, key: RegExp, depth: number, isNamed = false): readonly string[] {
  if (typeof value === 'string') return isNamed && value !== '' ? [value] : [];
  return parts(value, depth).flatMap(([name, part]) => named(part, key, depth - 1, name === undefined ? isNamed : key.test(name)));
}

/** With their keys, or those of a list without. SECURITY: what is not looked at must not run. */
function parts(value: JsonValue | undefined, depth: number): readonly (readonly [string | undefined, JsonValue | undefined])[] {
  if (!Array.isArray(value) && !isJsonObject(value)) return [];
  if (depth === 0) throw unreadable('its arguments lie too deep');
  if (!Array.isArray(value)) return Object.entries(value);
  if (value.length > mostItems) throw unreadable(`a list in its arguments has more than ${mostItems} items`);
  return value.map((item: JsonValue) => [undefined, item]);
}

function absolute(text: string, cwd: string): string {
  if (text.startsWith('file:')) {
    try {
      return fileURLToPath(text);
    } catch {
      return text;
    }
  }
  // What is no plain path is left for the policy to refuse.
  return /^[~]|\\|^[a-z][a-z0-9+.-]+:/i.test(text) ? text : path.resolve(cwd, text);
}

const address = /\bhttps?:\/\/[^\s'"<>`)\]}]{1,2000}/gi;

function urlsIn(all: JsonObject): readonly string[] {
  const plain = named(all, /^(?:url|urls|uri|address)$/i, deepest).filter((text) => /^[a-z][a-z0-9+.-]*:|^[\w-]+(?:\.[\w-]+)+/i.test(text));
  const inPrompt = (textOf(all['prompt']) ?? '').match(address) ?? [];
  return [...new Set([...plain, ...inPrompt])];
}

/** What a model says about its call, which is another text each time. */
const talk = /^(?:description|explanation|instruction|prompt|tool_?summary|timeout(?:_?ms)?)$/i;
const mostKept = 60_000;

/** SECURITY: all of it is bound by an approval; what is too long for a card by its hash. */
function kept(all: JsonObject, without = talk): JsonObject {
  const rest = Object.fromEntries(Object.entries(all).filter(([key]) => !without.test(key)));
  const text = JSON.stringify(rest);
  if (text.length <= mostKept) return rest;
  return {
    sha256: createHash('sha256').update(text).digest('hex'),
    bytes: Buffer.byteLength(text),
    begins: text.slice(0, 2_000).toWellFormed(),
  };
}
