/** Installing a hook into an agent's own configuration, taking it out again, and what `doctor` finds of it. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Finding } from '#kernel/app';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { unifiedDiff } from '#kernel/text/unified-diff';
import { hookAgent, hookAgents } from './agents.ts';
import { fileAt, type Installation, installations, isOurs, type PlaceKind, placeKinds } from './installations.ts';

/** A change of one file of an agent's configuration, before it is made. */
export interface HookChange {
  readonly agent: string;
  readonly kind: PlaceKind;
  readonly file: string;
  /** undefined: there is none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** A file that this one names: written before it, taken out behind it. */
  readonly beside?: { readonly file: string; readonly text: string };
  /** For people, as `diff -u`. */
  readonly difference: readonly string[];
}

function installationOf(agent: string): Installation {
  const found = Object.hasOwn(installations, agent) ? installations[agent] : undefined;
  if (found !== undefined) return found;
  throw new Fault('bad_usage', `no agent is named \`${agent.slice(0, 60)}\`; there are ${hookAgents.map(({ name }) => name).join(', ')}`, {
    audience: 'user',
  });
}

function placeOf(agent: string, kind: PlaceKind, project: string): string {
  const named = installationOf(agent).files[kind];
  if (named !== undefined) return fileAt(named, project);
  const kinds = placeKinds.filter((one) => installationOf(agent).files[one] !== undefined).map((one) => `--${one}`);
  throw new Fault('bad_usage', `${hookAgent(agent)?.title ?? agent} takes no such hook; it takes ${kinds.join(', ')}`, {
    audience: 'user',
  });
}

/** The places of an agent, best first. */
export function placesOf(agent: string): readonly { readonly kind: PlaceKind; readonly file: string }[] {
  const { files } = installationOf(agent);
  return placeKinds.flatMap((kind) => (files[kind] === undefined ? [] : [{ kind, file: files[kind] }]));
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * SECURITY: nothing that agents let a repository put into the environment is loaded with it, or says where configuration is. A program that is gone, crashes
 * or is killed ends with something else than 2, at which most agents run the call; they start the line with a shell.
 */
function commandOf(agent: string, kind: PlaceKind, file: string): string {
  const program = [process.execPath, realpathSync(file)].map(quoted).join(' ');
  // Where this is the editor's own program it is Node only by this variable.
  const asNode = process.versions['electron'] === undefined ? '' : 'ELECTRON_RUN_AS_NODE=1 ';
  return `env -u NODE_OPTIONS -u NODE_PATH ${asNode}${program} hook ${agent}${kind === 'managed' ? ' --managed' : ''} || exit 2`;
}

/**
 * @param program this program's own file, where it is not what this process was started with
 * @throws {Fault} `bad_usage`, `cannot_merge` with what has to be written by hand
 */
export function plannedInstall(agent: string, kind: PlaceKind, project: string, program = process.argv[1] ?? ''): HookChange {
  const file = placeOf(agent, kind, project);
  const before = textAt(file);
  const line = commandOf(agent, kind, program);
  const { add, besideManaged } = installationOf(agent);
  const beside = kind === 'managed' && besideManaged ? { file: besideManaged.file, text: besideManaged.text(line) } : undefined;
  try {
    return changeOf({ agent, kind, file, before, after: add(before, line, kind), ...(beside && { beside }) });
  } catch (cause) {
    throw new Fault('cannot_merge', `${file} is left as it is: ${cause instanceof Error ? cause.message : 'it cannot be read'}`, {
      audience: 'user',
      next: `put this in by hand, as docs/hooks.md says: ${line}`,
      cause,
    });
  }
}

/**
 * As it was before, byte for byte, where nobody has changed it since; else without our entry. @throws {Fault} `not_installed`
 */
export function plannedUninstall(
  agent: string,
  kind: PlaceKind,
  { project, state }: { readonly project: string; readonly state: string },
): HookChange {
  const file = placeOf(agent, kind, project);
  const now = textAt(file);
  const noted = noteOf(noteFile(state, file));
  if (now === undefined || !isOurs(now)) {
    if (noted === undefined) throw new Fault('not_installed', `there is no hook of Banksman’s in ${file}`, { audience: 'user' });
    // What is left of it is the note, by which `doctor` misses it.
    return { agent, kind, file, before: now, after: now, difference: ['(the hook is out of it already, and is missed no more)'] };
  }
  const { besideManaged } = installationOf(agent);
  const beside = kind === 'managed' && besideManaged ? { file: besideManaged.file, text: '' } : undefined;
  const after = noted?.after === now ? noted.before : withoutOurs(now, file);
  return changeOf({ agent, kind, file, before: now, after, ...(beside && { beside }) });
}

function withoutOurs(text: string, file: string): string | undefined {
  if (!file.endsWith('.json'))
    throw new Fault('cannot_merge', `${file} was changed since: take the hook out by hand`, { audience: 'user' });
  const parsed: unknown = JSON.parse(text);
  if (!isJsonObject(parsed)) return text;
  const plugins = parsed['plugin'];
  const now: JsonObject = Array.isArray(plugins) ? { ...parsed, plugin: plugins.filter((item) => !isOurs(item)) } : parsed;
  if (!isJsonObject(now['hooks'])) return `${JSON.stringify(now, null, 2)}\n`;
  const lists = Object.entries(now['hooks']).map(
    ([event, list]) => [event, Array.isArray(list) ? list.filter((item) => !isOurs(item)) : list] as const,
  );
  const hooks = Object.fromEntries(lists.filter(([, list]) => !Array.isArray(list) || list.length > 0));
  return `${JSON.stringify({ ...now, hooks }, null, 2)}\n`;
}

function changeOf(change: Omit<HookChange, 'difference'>): HookChange {
  const { beside } = change;
  const added = beside === undefined ? [] : unifiedDiff(textAt(beside.file) ?? '', beside.text);
  const further = beside === undefined || added.length === 0 ? [] : [`${beside.file}:`, ...added];
  return { ...change, difference: [...unifiedDiff(change.before ?? '', change.after ?? ''), ...further] };
}

/** At once and whole, and noted for the way back. @throws {Fault} `changed_meanwhile`, `not_allowed` */
export function carryOut(change: HookChange, state: string, installs: boolean): void {
  const { agent, kind, file, before, after } = change;
  if (textAt(file) !== before) throw new Fault('changed_meanwhile', `${file} changed meanwhile; look again`, { audience: 'user' });
  const note = noteFile(state, file);
  try {
    if (installs) writeNote(note, { agent, kind, file, before, after });
    putInPlace(change, installs);
    if (!installs) rmSync(note, { force: true });
  } catch (cause) {
    throw new Fault('not_allowed', `${file} was not written: ${cause instanceof Error ? cause.message : 'why is not known'}`, {
      audience: 'user',
      next: kind === 'managed' ? 'a managed hook is root’s to install: run this as root' : 'look who owns it',
      cause,
    });
  }
}

/** INVARIANT: a file that another one names is there as long as that one. */
function putInPlace({ file, after, beside }: HookChange, installs: boolean): void {
  if (installs && beside !== undefined) writeWhole(beside.file, beside.text);
  if (after === undefined) rmSync(file, { force: true });
  else writeWhole(file, after);
  if (!installs && beside !== undefined) rmSync(beside.file, { force: true });
}

function writeWhole(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0o644;
  const real = existsSync(file) ? realpathSync(file) : file;
  const temporary = `${real}.${process.pid}.banksman`;
  writeFileSync(temporary, text, { mode: mode & 0o777 });
  chmodSync(temporary, mode & 0o777);
  renameSync(temporary, real);
}

function textAt(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

type Note = Omit<HookChange, 'difference' | 'beside'>;

function notesFolder(state: string): string {
  return path.join(path.resolve(state), 'hook', 'installed');
}

function noteFile(state: string, file: string): string {
  return path.join(notesFolder(state), `${createHash('sha256').update(file).digest('hex').slice(0, 20)}.json`);
}

function writeNote(file: string, note: Note): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  // Installed once more it goes back to what was there first.
  const first = noteOf(file);
  const before = first !== undefined && first.after === note.before ? first.before : note.before;
  writeFileSync(file, JSON.stringify({ ...note, before: before ?? null }), { mode: 0o600 });
}

function noteOf(file: string): Note | undefined {
  try {
    const { before, ...note } = JSON.parse(readFileSync(file, 'utf8')) as Note & { readonly before: string | null };
    return { ...note, before: before ?? undefined };
  } catch {
    return undefined;
  }
}

interface PlacedHook {
  readonly kind: PlaceKind;
  /** Absolute. */
  readonly file: string;
  readonly text: string;
}

/** The hooks of one agent. */
export interface HookStanding {
  readonly there: readonly PlacedHook[];
  /** By one of them, whatever a repository says. */
  readonly isHeld: boolean;
  /** Where it is switched off. */
  readonly offBy: readonly string[];
}

/** What switches off the hooks of an agent that are in all of these folders, as the agent names them. */
type SaidOff = (folders: readonly string[]) => readonly string[];

/** @param saidOff by an editor itself of its own hooks; default: what its files say */
export function hookStanding(
  agent: string,
  project: string,
  saidOff: SaidOff = (folders) => switchedOffBy(agent, project, folders),
): HookStanding {
  const { besideManaged: beside, holds, files } = installationOf(agent);
  const there = placesOf(agent).flatMap(({ kind, file }) => {
    const text = readable(fileAt(file, project));
    if (text === undefined || !isOurs(text)) return [];
    const named = kind === 'managed' && beside !== undefined ? (readable(beside.file) ?? `${beside.file} hook `) : '';
    return [{ kind, file: fileAt(file, project), text: `${text}${named}` }];
  });
  const isHeld = there.some((one) => one.kind === 'managed' && (holds?.test(one.text) ?? true));
  const folders = there.map(({ kind }) => path.posix.dirname(files[kind] ?? ''));
  return { there, isHeld, offBy: isHeld ? [] : saidOff(folders) };
}

/**
 * Hooks that are there, were there, or are switched off in this project or account.
 * @param said by agent: as `hookStanding` takes it
 */
export function hookFindings(state: string, project: string, said: ReadonlyMap<string, SaidOff> = new Map()): readonly Finding[] {
  const topic = 'hooks';
  const standings = hookAgents.map(({ name, title }) => ({ name, title, ...hookStanding(name, project, said.get(name)) }));
  // Whatever project it is of: a note is of any that a hook was put into.
  const lost = notes(state).filter(({ file }) => !isOurs(readable(file) ?? ''));
  return [
    ...lost.map(
      ({ agent, kind, file }): Finding => ({
        ...{ topic, state: 'failed', message: `the hook of ${agent} in ${file} is gone: nothing asks before that agent’s own tools run` },
        remedy: `find out who took it out; \`banksman hook install ${agent} --${kind}\`, or \`uninstall\` where it is meant`,
      }),
    ),
    ...standings.flatMap(({ name, title, there, isHeld, offBy }) => {
      const canHold = installationOf(name).files.managed !== undefined;
      const better = canHold ? `, or install it where no repository reaches: \`banksman hook install ${name} --managed\`` : '';
      return there.flatMap(({ kind, file, text }) => [
        ...offBy.map(
          (by): Finding => ({
            ...{ topic, state: 'failed', message: `${title}: its hook (${file}) is switched off by ${by}` },
            remedy: `take that out${better}`,
          }),
        ),
        ...(offBy.length > 0 ? [] : [standing({ title, kind, file, text, isHeld, canHold })]),
      ]);
    }),
  ];
}

function standing({
  title,
  kind,
  file,
  text,
  isHeld,
  canHold,
}: {
  readonly title: string;
  readonly kind: PlaceKind;
  readonly file: string;
  readonly text: string;
  /** What is managed says all that it has to. */
  readonly isHeld: boolean;
  /** The agent takes a managed one. */
  readonly canHold: boolean;
}): Finding {
  const topic = 'hooks';
  const again = 'take it out and install it again';
  const program = /(?:^|[\s"])(\/[^\s"'\\]+\.c?js)['\\]* hook /.exec(text)?.[1];
  if (program !== undefined && !existsSync(program))
    return { topic, state: 'failed', message: `${title}: ${file} starts ${program}, which is not there`, remedy: again };
  if (kind === 'managed' && !isHeld)
    return { topic, state: 'warning', message: `${title}: a repository can switch the managed hook in ${file} off`, remedy: again };
  if (kind === 'managed') return { topic, state: 'ok', message: `${title}: a managed hook (${file})` };
  const message = `${title}: a hook that the ${kind === 'user' ? 'user’s own settings' : 'project’s files'} hold (${file}): advice, for a repository or a program of this account can switch it off`;
  return { topic, state: 'warning', message, ...(canHold ? { remedy: '`banksman hook install … --managed`, as root' } : {}) };
}

/** One hook that is read is enough. */
function switchedOffBy(agent: string, project: string, folders: readonly string[]): readonly string[] {
  const files = [...installationOf(agent).switchedOffBy].map(([named, sign]) => {
    const file = fileAt(named, project);
    const text = readable(file) ?? '';
    return { file, off: folders.filter((folder) => (typeof sign === 'function' ? sign(text, folder) : sign.test(text))) };
  });
  const isOff = folders.every((folder) => files.some(({ off }) => off.includes(folder)));
  return isOff ? files.filter(({ off }) => off.length > 0).map(({ file }) => file) : [];
}

function readable(file: string): string | undefined {
  try {
    return textAt(file);
  } catch {
    return undefined;
  }
}

function notes(state: string): readonly Note[] {
  const folder = notesFolder(state);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => noteOf(path.join(folder, name)) ?? []);
}

/** Which place the options name. */
export function kindIn(given: { readonly managed?: unknown; readonly user?: unknown; readonly project?: unknown }): PlaceKind | undefined {
  const named = placeKinds.filter((kind) => given[kind] !== undefined && given[kind] !== false);
  if (named.length > 1) throw new Fault('bad_usage', 'name one place: `--managed`, `--user` or `--project`', { audience: 'user' });
  return named[0];
}
