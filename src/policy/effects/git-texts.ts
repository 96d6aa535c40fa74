/** Texts of git that are control files by their place, and harmless by what is in them: what ordinary work writes all day. */

interface Texts {
  readonly before: string;
  readonly after: string;
}

/** `git-rebase(1)`: commands of a todo list that run nothing. */
const plainCommands: ReadonlySet<string> = new Set([
  ...['pick', 'p', 'reword', 'r', 'edit', 'e', 'squash', 's', 'fixup', 'f', 'drop', 'd', 'label', 'l', 'reset', 't', 'merge', 'm'],
  ...['update-ref', 'u', 'break', 'b', 'noop', 'revert'],
]);

export function isPlainTodo(text: string): boolean {
  return text.split('\n').every((line) => {
    const word = line.trim().split(/\s/, 1)[0] ?? '';
    return word === '' || word.startsWith('#') || plainCommands.has(word);
  });
}

/**
 * Whether only what says nothing about programs or other places changed: what a branch follows. It may follow a remote
 * that was there; a new one, or another address, decides where the next push goes.
 */
export function isHarmlessGitConfig({ before, after }: Texts): boolean {
  const [then, now] = [settingsOf(before), settingsOf(after)];
  if (then === undefined || now === undefined) return false;
  const remotes = new Set(then.flatMap((setting) => (setting.section === 'remote' ? [setting.of] : [])));
  const isIn = (all: readonly Setting[], { line }: Setting) => all.some((other) => other.line === line);
  const changed = [...then.filter((setting) => !isIn(now, setting)), ...now.filter((setting) => !isIn(then, setting))];
  return changed.every((setting) => isHarmless(setting, remotes));
}

function isHarmless({ section, key, value }: Setting, remotes: ReadonlySet<string>): boolean {
  if (section !== 'branch') return false;
  if (key === 'remote' || key === 'pushremote') return value === '.' || remotes.has(value);
  return key === 'rebase' || key === 'description' || (key === 'merge' && /^refs\/[\w./@+-]+$/.test(value));
}

interface Setting {
  readonly section: string;
  /** The section's own name, as of a branch; else empty. */
  readonly of: string;
  readonly key: string;
  readonly value: string;
  /** All of it, to compare. */
  readonly line: string;
}

const header = /^\[([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\]$/;
const assignment = /^([a-zA-Z][\w-]*)\s*(?:=\s*(.*))?$/;

/** `git-config(1)`, its plain lines only. @returns undefined where a line is anything else (continued, two on one line) */
function settingsOf(text: string): readonly Setting[] | undefined {
  const found: Setting[] = [];
  let [section, of] = ['', ''];
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    const start = header.exec(line);
    const set = assignment.exec(line);
    if (start !== null) [section, of] = [(start[1] ?? '').toLowerCase(), start[2] ?? ''];
    else if (set !== null && !line.endsWith('\\')) found.push(settingOf({ section, of }, set));
    else if (!/^(?:[#;].*)?$/.test(line)) return undefined;
  }
  return found;
}

function settingOf({ section, of }: Pick<Setting, 'section' | 'of'>, [, name = '', value = '']: readonly (string | undefined)[]): Setting {
  const key = name.toLowerCase();
  return { section, of, key, value, line: `${section}\0${of}\0${key}\0${value}` };
}
