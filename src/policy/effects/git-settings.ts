/**
 * Settings of a repository: which run nothing and lead nowhere, so that a change of them is ordinary work. Whatever is not in the table, or
 * not read by the strict reader below, is held with its name: `core.fsmonitor`, `include.path`, `credential.helper`, `alias.x`, `filter.x.clean` …
 * Source of all rows: `git-config(1)`.
 */
import { splitNames } from '#kernel/text/text';

export interface SettingRow {
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
const name = /[ \t\r\n]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t\r]*/y;
const rest = /[ \t\r]*(?:[#;][^\n]*)?(?:\n|$)/y;
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
    const named = place === undefined ? null : take(name);
    if (place !== undefined && named !== null)
      found.push({ ...place, key: (named[1] ?? '').toLowerCase(), value: named[2] === '' ? 'true' : readValue() });
    if (take(rest) === null) return undefined;
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
