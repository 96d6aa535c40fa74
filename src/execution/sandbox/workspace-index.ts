/**
 * Where the secrets and the repositories of a workspace are, kept fresh by the kernel's word of what changed (`inotify(7)`): the look before a
 * run costs by that, not by the size of the tree. SECURITY: whatever leaves a doubt (too many events at once, a root that is another one)
 * means that all is read anew; where the tree cannot be watched, it is read before each run.
 */
import { type Dirent, type FSWatcher, readdirSync, readFileSync, statfsSync, watch } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { runsFolder, statsOf } from './entries.ts';
import { isGitDirectory } from './git-directory.ts';
import { type NameRules, packageFolders } from './scan-workspace.ts';

/** Paths below the root. */
export interface WorkspaceLook {
  /** Files that are secrets by their names; what installed packages bring along is none. */
  readonly secrets: readonly string[];
  /** Directories that git takes for its own. */
  readonly repositories: readonly string[];
  /** Nobody may list them now, but their owner could open them. */
  readonly closed: readonly string[];
}

export interface WorkspaceIndex {
  /** @returns undefined where there was too little time; the next look goes on from there */
  look(limitMs: number, signal: AbortSignal): Promise<WorkspaceLook | undefined>;
}

export interface IndexOptions {
  readonly root: string;
  readonly rules: Pick<NameRules, 'isSecret'>;
  /** How many directories are watched; left out: half of what the system grants this user. */
  readonly mostWatched?: number;
  /** Events that the kernel keeps until they are read; left out: what it says. */
  readonly queued?: number;
}

interface Directory {
  readonly watcher: FSWatcher | undefined;
  /** Names of the directories in it that are read, too. */
  readonly inner: Set<string>;
  readonly secrets: Set<string>;
  readonly repositories: Set<string>;
  readonly isClosed: boolean;
}

/** Of these it is known that the kernel sees each change. Source: `statfs(2)`: ext2 to 4, XFS, Btrfs, tmpfs, overlay, F2FS, ZFS. */
const localFileSystems: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1]);
/** Names that make git take the directory they are in for a repository's. */
const repositoryNames: ReadonlySet<string> = new Set(['HEAD', 'objects', 'refs', 'commondir']);
const sliceMs = 8;
/** Each watch that ends leaves an event behind. */
const mostClosedAtOnce = 1_000;

export function createWorkspaceIndex(options: IndexOptions): WorkspaceIndex {
  const state = new IndexState(options);
  let last: Promise<unknown> = Promise.resolve();
  return {
    look: (limitMs, signal) => {
      const mine = last.then(() => state.look(limitMs, signal));
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

class IndexState {
  readonly #directories = new Map<string, Directory>();
  /** Those with something to say, so that a look does not go through all. */
  readonly #notable = new Map<string, Directory>();
  /** Paths that are to be read: new, or changed since. */
  readonly #open = new Set<string>();
  readonly #root: string;
  readonly #isSecret: NameRules['isSecret'];
  readonly #mostWatched: number;
  readonly #mostEvents: number;
  #rootIs = '';
  #isWatching: boolean;
  #isLost = true;
  #events = 0;
  #closed = 0;

  constructor({ root, rules, mostWatched, queued }: IndexOptions) {
    this.#root = root;
    this.#isSecret = (segments) => rules.isSecret(segments);
    this.#mostWatched = mostWatched ?? kernelLimit('max_user_watches') / 2;
    this.#mostEvents = (queued ?? kernelLimit('max_queued_events')) / 2;
    this.#isWatching = process.platform === 'linux' && isLocal(root);
  }

  async look(limitMs: number, signal: AbortSignal): Promise<WorkspaceLook | undefined> {
    const until = performance.now() + limitMs;
    await takeEvents();
    const stats = statsOf(this.#root);
    const rootIs = `${stats?.dev}:${stats?.ino}`;
    if (this.#isLost || !this.#isWatching || rootIs !== this.#rootIs) await this.#startAnew(rootIs);
    for (const [place, { isClosed }] of this.#notable) if (isClosed) this.#open.add(place);
    if (!(await this.#readOpen(until, signal))) return undefined;
    return this.#isLost ? this.look(until - performance.now(), signal) : this.#found();
  }

  async #startAnew(rootIs: string): Promise<void> {
    await this.#forget('');
    await takeEvents();
    this.#isLost = false;
    this.#rootIs = rootIs;
    this.#open.clear();
    this.#open.add('');
  }

  /** @returns whether nothing is left to read */
  async #readOpen(until: number, signal: AbortSignal): Promise<boolean> {
    let sliceStart = performance.now();
    for (const place of this.#open) {
      if (performance.now() > until) return false;
      if (performance.now() - sliceStart > sliceMs) {
        await nextTurn();
        signal.throwIfAborted();
        sliceStart = performance.now();
      }
      this.#open.delete(place);
      await this.#forget(place);
      this.#read(place);
      for (const at of [place, parentOf(place)]) this.#note(at);
      if (this.#isLost) return true;
    }
    return true;
  }

  /** All that is known of a path and of what is below it. */
  async #forget(place: string): Promise<void> {
    if (place !== '') {
      const { inner, secrets, repositories } = this.#directories.get(parentOf(place)) ?? {};
      for (const names of [inner, secrets, repositories]) names?.delete(path.posix.basename(place));
    }
    const open = [place];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const directory = this.#directories.get(at);
      this.#directories.delete(at);
      this.#notable.delete(at);
      for (const name of directory?.inner ?? []) open.push(below(at, name));
      await this.#endWatch(directory?.watcher);
    }
  }

  async #endWatch(watcher: FSWatcher | undefined): Promise<void> {
    if (watcher === undefined) return;
    watcher.close();
    this.#closed += 1;
    if (this.#closed < mostClosedAtOnce) return;
    this.#closed = 0;
    await takeEvents();
  }

  #read(place: string): void {
    const parent = this.#directories.get(parentOf(place));
    // The one above is gone, is a repository, or is read later.
    if (place !== '' && (parent === undefined || parent.repositories.has('.'))) return;
    const stats = statsOf(`${this.#root}/${place}`);
    if (stats === undefined) return;
    if (!stats.isDirectory()) {
      if (parent !== undefined && !stats.isSymbolicLink() && this.#isSecret(place.split('/')))
        parent.secrets.add(path.posix.basename(place));
      return;
    }
    if (parent === undefined) this.#readDirectory(place);
    else this.#meet(place, parent);
  }

  /** A directory in `parent`. */
  #meet(place: string, parent: Directory): void {
    const name = path.posix.basename(place);
    if (name === '.git') parent.repositories.add(name);
    else if (!packageFolders.has(name) && place !== runsFolder) {
      parent.inner.add(name);
      this.#readDirectory(place);
    }
  }

  /** INVARIANT: watched before it is read, so that a change is either seen or told. */
  #readDirectory(place: string): void {
    const watcher = this.#watch(place);
    const entries = listOrNothing(`${this.#root}/${place}`);
    const directory = { watcher, inner: new Set<string>(), secrets: new Set<string>(), repositories: new Set<string>() };
    this.#directories.set(place, { ...directory, isClosed: entries === undefined });
    if (entries === undefined) return;
    if (isGitDirectory(entries)) {
      directory.repositories.add('.');
      return;
    }
    for (const entry of entries) this.#sort(below(place, entry.name), entry, directory);
  }

  #sort(place: string, entry: Dirent, directory: Omit<Directory, 'isClosed'>): void {
    if (entry.isDirectory()) {
      if (entry.name === '.git') directory.repositories.add(entry.name);
      else if (!packageFolders.has(entry.name) && place !== runsFolder) {
        directory.inner.add(entry.name);
        this.#open.add(place);
      }
    } else if (!entry.isSymbolicLink() && this.#isSecret(place.split('/'))) directory.secrets.add(entry.name);
  }

  #watch(place: string): FSWatcher | undefined {
    if (!this.#isWatching) return undefined;
    try {
      if (this.#directories.size >= this.#mostWatched) throw new Error('too many');
      const watcher = watch(`${this.#root}/${place}`, { persistent: false }, (kind, name) => this.#hear(place, kind, name));
      watcher.on('error', () => this.#stopWatching());
      return watcher;
    } catch (thrown) {
      // It is gone, or closed: what is above it, or the next look, tells.
      if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((thrown as NodeJS.ErrnoException).code ?? '')) return undefined;
      this.#stopWatching();
      return undefined;
    }
  }

  #stopWatching(): void {
    this.#isWatching = false;
    for (const { watcher } of this.#directories.values()) watcher?.close();
  }

  #hear(place: string, kind: string, name: string | null): void {
    if (this.#events === 0) setImmediate(() => this.#startCount()).unref();
    this.#events += 1;
    // SECURITY: a full queue drops events, and Node does not say so.
    if (this.#events >= this.#mostEvents) this.#isLost = true;
    // What is written into a file changes no name.
    if (kind === 'change' || !this.#directories.has(place)) return;
    this.#open.add(name === null || repositoryNames.has(name) ? place : below(place, name));
  }

  #note(place: string): void {
    const directory = this.#directories.get(place);
    if (directory === undefined) return;
    if (directory.isClosed || directory.secrets.size + directory.repositories.size > 0) this.#notable.set(place, directory);
  }

  #startCount(): void {
    this.#events = 0;
  }

  #found(): WorkspaceLook {
    const all = [...this.#notable];
    const named = (pick: (directory: Directory) => ReadonlySet<string>) =>
      all.flatMap(([place, directory]) => [...pick(directory)].map((name) => (name === '.' ? place : below(place, name))));
    return {
      secrets: named(({ secrets }) => secrets),
      repositories: named(({ repositories }) => repositories),
      closed: all.filter(([, { isClosed }]) => isClosed).map(([place]) => place),
    };
  }
}

/** Two turns of the event loop: in the second one, at the latest, the kernel is asked for all its events. */
async function takeEvents(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

function listOrNothing(directory: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EACCES' ? undefined : [];
  }
}

function below(place: string, name: string): string {
  return place === '' ? name : `${place}/${name}`;
}

function parentOf(place: string): string {
  return place.slice(0, Math.max(0, place.lastIndexOf('/')));
}

function isLocal(root: string): boolean {
  try {
    return localFileSystems.has(statfsSync(root).type);
  } catch {
    return false;
  }
}

function kernelLimit(name: string): number {
  try {
    return Number(readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8'));
  } catch {
    return 0;
  }
}
