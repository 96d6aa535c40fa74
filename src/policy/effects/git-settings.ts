/**
 * Settings of a repository: which run nothing and lead nowhere, so that a change of them is ordinary work. Whatever is not in the table, or
 * not read by the strict reader below, is held with its name: `core.fsmonitor`, `include.path`, `credential.helper`, `alias.x`, `filter.x.clean` …
 * Source of all rows: `git-config(1)`.
 */
import type { Change, JudgeGround } from '#kernel/effects';
import { splitNames } from '#kernel/text/text';

interface SettingRow {
  /** `section.key` or `section.*.key`, `*` any name of one's own; a key `*` is any. Lower case but for `*`. */
  readonly names: string;
  /** What the value must be; left out: any text. */
  readonly value?: Pick<RegExp, 'test'>;
  /** Examples, `name=value`, one a line. */
  readonly match: string;
  readonly notMatch: string;
}

const yesNo = /^(?:true|false|yes|no|on|off|0|1|)$/i;
const number = /^-?\d+[kmg]?$/i;
const word = /^[\w.:+-]*$/;
const branchName = /^[\w./@+#-]+$/;
const remoteUrl = /^(?:https?|ssh|git|file):\/\/[\w[~/][\w[\].~@:/%?&=+,-]*$/;
const hostAndPath = /^(?:\w[\w.-]*@)?\w[\w.-]*:(?!:)[\w.~/%+-]+$/;
const localPath = /^(?:\/?[\w.@+~%][\w./@+~%-]*|\/)$/;
/** `git-fetch(1)`, GIT URLS: no `helper::address`, nothing that begins as an option. */
const address = { test: (text: string) => [remoteUrl, hostAndPath, localPath].some((form) => form.test(text)) };
/** Not to branches of one's own, which the next fetch would overwrite. */
const refspec = /^[+^]?[\w./*@-]+(?::refs\/(?:remotes|tags|notes|pull)\/[\w./*@-]*)?$/;

export const settingRows: readonly SettingRow[] = [
  {
    names: 'user.name user.email user.useconfigonly author.name author.email committer.name committer.email',
    match: 'user.name=Ann',
    notMatch: 'user.signingkey=x',
  },
  {
    names: 'core.repositoryformatversion core.compression core.loosecompression core.bigfilethreshold core.abbrev',
    value: number,
    match: 'core.repositoryformatversion=1',
    notMatch: 'core.compression=x y',
  },
  {
    names: `core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode core.symlinks core.quotepath core.trustctime
      core.preloadindex core.sparsecheckout core.sparsecheckoutcone core.longpaths core.multipackindex core.commitgraph core.splitindex
      core.fscache core.untrackedcache`,
    value: /^(?:true|false|yes|no|on|off|0|1||always|keep)$/i,
    match: 'core.bare=false\ncore.filemode=true\ncore.untrackedcache=keep',
    notMatch: 'core.fsmonitor=true\ncore.protectntfs=false\ncore.worktree=/etc',
  },
  {
    names: 'core.autocrlf core.eol core.safecrlf core.checkstat core.whitespace core.commentchar core.sharedrepository',
    value: /^[\w,=#;%!@-]*$/,
    match: 'core.autocrlf=input',
    notMatch:
      'core.pager=less\ncore.editor=vi\ncore.sshcommand=x\ncore.hookspath=x\ncore.askpass=x\ncore.gitproxy=x\ncore.attributesfile=x',
  },
  {
    names: 'extensions.objectformat extensions.worktreeconfig extensions.refstorage extensions.noop',
    value: word,
    match: 'extensions.worktreeconfig=true',
    notMatch: 'extensions.partialclone=origin',
  },
  { names: 'init.defaultbranch', value: branchName, match: 'init.defaultbranch=main', notMatch: 'init.templatedir=x' },
  { names: 'branch.*.merge', value: /^refs\/[\w./@+#-]+$/, match: 'branch.x.merge=refs/heads/x', notMatch: 'branch.x.merge=x y' },
  {
    names: 'branch.*.remote',
    value: /^(?:\.|\w[\w.-]*)$/,
    match: 'branch.x.remote=origin\nbranch.x.remote=.',
    notMatch: 'branch.x.remote=ext::sh -c x\nbranch.x.remote=/tmp/x\nbranch.x.remote=https://x',
  },
  {
    names: 'branch.*.rebase branch.*.description branch.autosetupmerge branch.autosetuprebase branch.sort',
    match: 'branch.x.rebase=true',
    notMatch: 'branch.x.pushremote=x\nbranch.x.mergeoptions=-s x',
  },
  {
    names: 'remote.*.url',
    value: address,
    match: 'remote.o.url=https://example.org/a/b.git\nremote.o.url=git@example.org:a/b.git\nremote.o.url=/srv/ws/.\nremote.o.url=../b',
    notMatch:
      'remote.o.url=ext::sh -c x\nremote.o.url=-x\nremote.o.url=ssh://-oProxyCommand=x/y\nremote.o.url=--upload-pack=x\nremote.o.url=fd::3\nremote.o.pushurl=x',
  },
  {
    names: 'remote.*.fetch',
    value: refspec,
    match: 'remote.o.fetch=+refs/heads/*:refs/remotes/o/*',
    notMatch:
      'remote.o.fetch=+refs/*:refs/*\nremote.o.push=x\nremote.o.uploadpack=x\nremote.o.receivepack=x\nremote.o.vcs=x\nremote.o.proxy=x',
  },
  { names: 'remote.*.tagopt', value: /^--(?:no-)?tags$/, match: 'remote.o.tagopt=--no-tags', notMatch: 'remote.o.tagopt=x' },
  {
    names: 'remote.*.prune remote.*.prunetags remote.*.skipdefaultupdate remote.*.skipfetchall remote.*.mirror fetch.prune fetch.prunetags',
    value: /^(?:true|false|yes|no|on|off|0|1||fetch)$/i,
    match: 'remote.o.prune=true',
    notMatch: 'remote.pushdefault=x',
  },
  {
    names: 'pull.rebase pull.ff push.default push.autosetupremote push.followtags fetch.parallel fetch.writecommitgraph',
    value: word,
    match: 'pull.rebase=false',
    notMatch: 'push.gpgsign=x y\npull.octopus=x y',
  },
  {
    names: `merge.ff merge.conflictstyle merge.renames merge.renamelimit merge.directoryrenames merge.stat merge.log merge.autostash
      rebase.autostash rebase.autosquash rebase.updaterefs rebase.stat rebase.missingcommitscheck rebase.abbreviatecommands rerere.enabled
      rerere.autoupdate stash.showpatch stash.showstat stash.showincludeuntracked checkout.guess checkout.defaultremote`,
    value: word,
    match: 'merge.conflictstyle=zdiff3\nrerere.enabled=true',
    notMatch: 'merge.tool=x\nmerge.x.driver=x\nrebase.instructionformat=x\nsequence.editor=x',
  },
  {
    names: `color.* color.*.* column.* advice.* status.* log.date log.decorate log.abbrevcommit log.follow log.mailmap commit.verbose
      commit.status commit.cleanup tag.sort i18n.* blame.date blame.showemail grep.linenumber grep.column grep.patterntype
      grep.extendedregexp versionsort.suffix format.pretty apply.whitespace feature.manyfiles feature.experimental index.version index.sparse
      index.threads interactive.singlekey`,
    match: 'color.ui=auto\ncolor.branch.current=yellow\nadvice.detachedhead=false',
    notMatch:
      'log.showsignature=true\ncommit.gpgsign=true\ncommit.template=x\ntag.gpgsign=true\npager.log=x\nformat.signaturefile=x\ninteractive.difffilter=x',
  },
  {
    names: `diff.algorithm diff.renames diff.renamelimit diff.mnemonicprefix diff.noprefix diff.colormoved diff.context diff.interhunkcontext
      diff.indentheuristic diff.submodule diff.ignoresubmodules diff.statgraphwidth diff.relative diff.suppressblankempty`,
    value: word,
    match: 'diff.algorithm=histogram',
    notMatch: 'diff.external=x\ndiff.x.textconv=x\ndiff.x.command=x\ndiff.tool=x\ndiff.orderfile=x',
  },
  {
    names: 'gc.auto gc.autopacklimit pack.threads pack.window pack.depth pack.windowmemory http.postbuffer',
    value: number,
    match: 'gc.auto=0',
    notMatch: 'http.sslverify=false\nhttp.proxy=x\nhttp.cookiefile=x\ngc.pruneexpire=now',
  },
  {
    names: 'gc.autodetach maintenance.auto submodule.recurse submodule.*.active lfs.repositoryformatversion',
    value: yesNo,
    match: 'maintenance.auto=false',
    notMatch: 'lfs.customtransfer.x.path=x\nsubmodule.x.url=ext::x',
  },
  {
    names: 'submodule.*.update',
    value: /^(?:checkout|rebase|merge|none)$/,
    match: 'submodule.x.update=rebase',
    notMatch: 'submodule.x.update=!sh',
  },
  {
    names: 'receive.denycurrentbranch',
    value: /^(?:refuse|warn|ignore|updateInstead|true|false)$/,
    match: 'receive.denycurrentbranch=updateInstead',
    notMatch: 'receive.procreceiverefs=x',
  },
];

const rowsByName = new Map(settingRows.flatMap((row) => splitNames(row.names).map((name) => [name, row] as const)));

interface Setting {
  readonly section: string;
  /** The section's own name, as of a branch; else empty. */
  readonly of: string;
  readonly key: string;
  readonly value: string;
}

/** `user.name`, `branch.*.merge` */
function nameOf({ section, of, key }: Setting, own = of): string {
  return of === '' ? `${section}.${key}` : `${section}.${own}.${key}`;
}

function isHarmless(setting: Setting): boolean {
  const { section, of, value } = setting;
  const row = rowsByName.get(nameOf(setting, '*')) ?? rowsByName.get(of === '' ? `${section}.*` : `${section}.*.*`);
  return row !== undefined && (row.value === undefined || row.value.test(value));
}

/** Why a change of a repository's settings is a person's decision; undefined: nothing that changed runs a program or leads anywhere. */
export function whyHeldSettings({ before, after }: { readonly before: string; readonly after: string }): string | undefined {
  const [then, now] = [readSettings(before), readSettings(after)];
  if (then === undefined || now === undefined) return 'it cannot be read as plain settings of git';
  const lines = (all: readonly Setting[]) => new Set(all.map((setting) => `${nameOf(setting)}\n${setting.value}`));
  const [old, fresh] = [lines(then), lines(now)];
  const isIn = (all: ReadonlySet<string>, setting: Setting) => all.has(`${nameOf(setting)}\n${setting.value}`);
  const changed = [...now.filter((setting) => !isIn(old, setting)), ...then.filter((setting) => !isIn(fresh, setting))];
  const bad = changed.find((setting) => !isHarmless(setting));
  if (bad !== undefined) return `\`${nameOf(bad)}\` may run a program, or lead git elsewhere`;
  const led = changed.find((setting) => leadsElsewhere(setting, then, now));
  if (led !== undefined) return `\`${nameOf(led)}\` was there, and decides where the next push goes`;
  // A later line of the same name counts more, so that another order is another setting.
  const order = (all: readonly Setting[], other: ReadonlySet<string>) =>
    all.filter((setting) => isIn(other, setting)).map((setting) => nameOf(setting) + setting.value);
  return order(then, fresh).join('\n') === order(now, old).join('\n') ? undefined : 'its settings stand in another order';
}

/** A remote that was there keeps its address, and a branch the remote that it follows; new ones are ordinary, and so is a branch that goes. */
function leadsElsewhere(setting: Setting, then: readonly Setting[], now: readonly Setting[]): boolean {
  const isSame = ({ section, of, key }: Setting) => section === setting.section && of === setting.of && key === setting.key;
  if (!['url', 'remote'].includes(setting.key) || !then.some(isSame)) return false;
  return setting.section === 'remote' || now.some(({ section, of }) => section === 'branch' && of === setting.of);
}

const header = /[ \t\r\n]*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\][ \t\r]*/y;
const namePart = /[ \t\r\n]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t\r]*/y;
const restPart = /[ \t\r]*(?:[#;][^\n]*)?(?:\n|$)/y;
const quoted = /"((?:[^"\\\n]|\\["\\ntb]|\\\r?\n)*)"/y;
const plain = /(?:[^"\\#;\n]|\\["\\ntb]|\\\r?\n)+/y;

/** The syntax of `git-config(1)`, strictly. @returns undefined where anything does not fit */
function readSettings(text: string): readonly Setting[] | undefined {
  const found: Setting[] = [];
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const taken = pattern.exec(text);
    at += taken?.[0].length ?? 0;
    return taken;
  };
  const readValue = (): string => {
    let value = '';
    for (;;) {
      const piece = take(plain)?.[0];
      const inQuotes = take(quoted)?.[1];
      if (piece === undefined && inQuotes === undefined) return value;
      // Blanks at the end of a value do not count, but those in quotes do.
      value += withoutEscapes(inQuotes === undefined ? (piece ?? '').trimEnd() : `${piece ?? ''}${inQuotes}`);
    }
  };
  let place: Pick<Setting, 'section' | 'of'> | undefined;
  while (at < text.length) {
    const start = take(header);
    if (start !== null) place = placeOf(start[1] ?? '', start[2]);
    const named = place === undefined ? null : take(namePart);
    if (place !== undefined && named !== null)
      found.push({ ...place, key: (named[1] ?? '').toLowerCase(), value: named[2] === '' ? 'true' : readValue() });
    if (take(restPart) === null) return undefined;
  }
  return found;
}

/** `[section "Of"]`, or `[section.of]`, which folds its case. */
function placeOf(section: string, of: string | undefined): Pick<Setting, 'section' | 'of'> {
  const [outer = '', ...dotted] = section.toLowerCase().split('.');
  return { section: outer, of: of?.replaceAll(/\\(.)/g, '$1') ?? dotted.join('.') };
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b' };

function withoutEscapes(text: string): string {
  return text.replaceAll(/\\(\r?\n|.)/g, (_whole, after: string) => (after.endsWith('\n') ? '' : (escapes[after] ?? after)));
}

// Files of a repository that decide what git runs or where it looks: each is judged by what it says. Source: `gitrepository-layout(5)`,
// `githooks(5)`, `git-worktree(1)`, `git-rebase(1)`.
/** Directly in the directory of a repository, of a submodule's or of a worktree's: why its text is a person's decision. */
const points: Readonly<Record<string, (file: GitFile) => string | undefined>> = {
  config: ({ texts }) => whyHeldSettings(texts),
  'config.worktree': ({ texts }) => whyHeldSettings(texts),
  commondir: ({ texts, inGit }) =>
    inGit.length === 3 && inGit[0] === 'worktrees' && texts.after.trim() === '../..' ? undefined : 'it leads git to other configuration',
  gitdir: ({ texts, root }) => {
    const place = texts.after.trim();
    return place.startsWith('/') && isBelow(resolvePath('', place), root) && place.endsWith('/.git') ? undefined : leadsOut(place);
  },
  'objects/info/alternates': ({ texts, root, directory }) => {
    const places = texts.after.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const out = places.find((place) => !isBelow(resolvePath(`${directory}/objects`, place), root));
    return out === undefined ? undefined : leadsOut(out);
  },
  'info/attributes': () => 'it names filters that git runs',
};

/** As the kernel would go, links aside. */
export function resolvePath(directory: string, place: string): string {
  const names: string[] = [];
  for (const name of `${place.startsWith('/') ? '' : directory}/${place}`.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}

const leadsOut = (place: string) => `it leads out of the workspace, to \`${place}\``;
const isBelow = (place: string, root: string) => place.startsWith(`${root}/`);

/** `remotes` and `branches`, the old way to say where a push goes, count where the configuration says nothing. */
const folders: ReadonlySet<string> = new Set(['hooks', 'remotes', 'branches']);
const todoFiles: ReadonlySet<string> = new Set(
  splitNames(`rebase-merge/git-rebase-todo rebase-merge/git-rebase-todo.backup
  rebase-apply/git-rebase-todo sequencer/todo`),
);

interface GitFile {
  readonly texts: { readonly before: string; readonly after: string };
  readonly inGit: readonly string[];
  /** Of the workspace, absolute. */
  readonly root: string;
  /** Absolute: the repository's own, a submodule's or a worktree's. */
  readonly directory: string;
}

/** Below the repository's directory; of a submodule or a worktree below its own, whatever its name is. */
function pointOf(inGit: readonly string[]): { readonly name: string; readonly depth: number } | undefined {
  for (let depth = 0; depth < inGit.length; depth += 1) {
    if (depth > 0 && !['modules', 'worktrees'].includes(inGit[0] ?? '')) break;
    const rest = inGit.slice(depth);
    const joined = rest.join('/');
    if (folders.has(rest[0] ?? '')) return { name: rest[0] ?? '', depth };
    if (Object.hasOwn(points, joined) || todoFiles.has(joined)) return { name: joined, depth };
  }
  return undefined;
}

export function isTodo(inGit: readonly string[]): boolean {
  return todoFiles.has(pointOf(inGit)?.name ?? '');
}

/** @param inGit names behind the repository's directory; undefined: the change is ordinary work of git */
export function whyHeldInGit(change: Change, inGit: readonly string[], { workspaceRoot: root }: JudgeGround): string | undefined {
  const point = pointOf(inGit);
  if (point === undefined || todoFiles.has(point.name)) return undefined;
  if (folders.has(point.name)) return whyHeldInFolder(change, point.name);
  if (change.kind === 'delete') return point.name.startsWith('config') ? 'settings of a repository go' : undefined;
  const texts = textsOf(change);
  if (texts === undefined) return 'git outside of the sandbox obeys it';
  const names = change.path.split('/');
  const directory = [root, ...names.slice(0, names.length - inGit.length + point.depth)].join('/');
  return points[point.name]?.({ texts, inGit, root, directory });
}

function textsOf({ type, kind, texts }: Change) {
  return type === 'file' && kind !== 'attributes' ? texts?.() : undefined;
}

function linkText(change: Change): string {
  return textsOf(change)?.after ?? '';
}

/** What is in a directory that goes is judged by itself. */
function whyHeldInFolder({ type, kind, path }: Change, folder: string): string | undefined {
  const isEmpty = type === 'directory' && kind !== 'replace';
  const isSample = type === 'file' && path.endsWith('.sample');
  if (isEmpty || isSample) return undefined;
  return folder === 'hooks' ? 'git runs it' : 'it decides where git pushes to';
}

/** Of `.git` itself: a repository is judged by what is in it, a link to one by where it leads. */
export function whyHeldGitLink(change: Change, { workspaceRoot: root }: JudgeGround): string | undefined {
  const { kind, type, path } = change;
  if (kind === 'replace') return 'another repository would be in the place of the one that was there';
  if (kind === 'attributes' || kind === 'delete' || type === 'directory') return undefined;
  const [, place] = /^gitdir: ([^\n]+)\n?$/.exec(linkText(change)) ?? [];
  if (place === undefined) return 'git obeys what it leads to';
  const directory = resolvePath(`${root}/${path}/..`, place);
  if (!isBelow(directory, root)) return leadsOut(place);
  const isPart = /\/\.git\/(?:worktrees|modules)\//.test(directory.slice(root.length));
  return isPart ? undefined : 'it makes a repository of a directory that is none by its name';
}

/** Commands of a todo list that run nothing. */
const plainCommands: ReadonlySet<string> = new Set(
  splitNames('pick p reword r edit e squash s fixup f drop d label l reset t merge m update-ref u break b noop revert'),
);

export function isPlainTodo(text: string): boolean {
  return text.split('\n').every((line) => {
    const act = line.trim().split(/\s/, 1)[0] ?? '';
    return act === '' || act.startsWith('#') || plainCommands.has(act);
  });
}
