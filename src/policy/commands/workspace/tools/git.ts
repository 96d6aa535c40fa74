/**
 * git: ordinary work in this repository. SECURITY: a repository's configuration can run programs; whoever runs git for us does so with
 * `core.fsmonitor`, `core.hooksPath` and the pager switched off, in the sandbox.
 */
import type { Caution, ToolRule, VerbGroup } from '../tool-rule.ts';
import { words } from '../words.ts';

const code = (word: RegExp, message: string): Caution => ({ word, concern: 'runs_other_code', message });
/** SECURITY: what stands behind such an option is not looked at, so each verb has only those that take a word there (`git diff -u FILE`). */
const message = words('-m --message -am --author --date --cleanup --trailer --fixup --squash');
const searching = words('--format --pretty --grep -S -G -L --since --until --after --before --author --committer --date');
const sorting = words('--sort --format');
/** Behind the verb. What may stand before it is `git-command.ts`'s. */
const cautions: readonly Caution[] = [
  code(
    // `git` takes any unambiguous start of a long option, so starts count as the whole.
    /^(?:--(?:config|exec|upload|receive|ext-|textc|open|extc|tool|temp|unsafe|gpg|smtp|strategy(?!-option)|interactive|separate|show-sig|recurse-s|filters|refs$|editor|local-env|ed(?:it|itor)?$|edit-d|exe(?:=|$)|gp(?:=|$)|stdin-paths)|-O)/,
    'an option that runs or configures another program',
  ),
  {
    word: /^--(?:git-d|work-t|glob(?:al)?$|sys|output-d)/,
    concern: 'PATH_OUTSIDE_WORKSPACE',
    message: 'another repository, a place outside, or settings of the user',
  },
  {
    word: /^--remot|^(?:https?|git|ssh|ftps?|file|ext|git\+ssh):|^[\w.-]+@[\w.-]+:|::/,
    concern: 'network_blocked',
    message: 'another repository',
  },
];
const rebase: readonly Caution[] = [code(/^(?:-x|--exe|-i$|-[a-z]*i|--inter|--edit)/, 'runs commands or an editor')];
const quiet = (...verbs: readonly string[]): VerbGroup => ({ verbs, paths: 'list' });
const reads = (textOptions: readonly string[], verbs: string): VerbGroup => ({ verbs: words(verbs), paths: 'read', textOptions });

export const gitRules: readonly ToolRule[] = [
  {
    id: 'workspace.git',
    programs: ['git'],
    paths: 'list',
    cautions,
    verbs: [
      reads(searching, 'log show shortlog reflog rev-list whatchanged show-branch'),
      reads(words('-S -G'), 'diff diff-tree diff-index diff-files range-diff'),
      // Names only, whatever is in the files.
      { verbs: words('for-each-ref ls-tree ls-files status check-ignore check-attr'), paths: 'list', textOptions: sorting },
      reads(words('-m --message'), 'stash'),
      reads(words('--format --prefix'), 'archive'),
      reads(
        [],
        'rev-parse describe cat-file show-ref name-rev merge-base count-objects cherry symbolic-ref var version --version grep stripspace fsck verify-commit hash-object update-index rerere merge-tree format-patch verify-pack',
      ),
      quiet(...words('restore reset rm apply am sparse-checkout bundle gc prune pack-refs clean read-tree write-tree mktag')),
      {
        verbs: words('commit merge revert cherry-pick commit-tree'),
        // `-F FILE` is read.
        paths: 'read',
        textOptions: message,
        cautions: [code(/^-S/, 'signs, which starts another program')],
      },
      { verbs: ['checkout', 'switch', 'branch'], paths: 'list', takesNames: true, textOptions: sorting },
      {
        verbs: ['tag'],
        paths: 'read',
        takesNames: true,
        textOptions: [...message, ...sorting],
        cautions: [code(/^-(?:s|u|v|[asf]*s)$|^--(?:sign|local|verify)/, 'signs, which starts another program')],
      },
      { verbs: ['rebase'], paths: 'list', cautions: rebase },
      {
        verbs: ['remote'],
        paths: 'list',
        cautions: [
          {
            word: /^(?!remote$|-v$|--verbose$|get-url$|--all$|--push$|-n$|origin$|upstream$)/,
            concern: 'network_blocked',
            message: 'another repository',
          },
        ],
      },
      // SECURITY: under another name a secret could be read, and a hook or a setting be planted.
      { verbs: ['mv'], paths: 'write' },
      { verbs: ['blame', 'annotate'], paths: 'read', textOptions: ['-L', '--since', '--date'] },
      {
        verbs: ['help'],
        paths: 'text',
        cautions: [code(/^-(?!(?:a|g|c|m|-all|-guides|-config|-man)$)/, 'opens a browser or another viewer')],
      },
      { verbs: ['init'], paths: 'list' },
      {
        verbs: ['add', 'stage'],
        paths: 'read',
        cautions: [code(/^(?:-[a-z]*[ie][a-z]*|--edit)$/, 'waits for a person or an editor')],
      },
      { verbs: ['notes'], paths: 'read', textOptions: message, cautions: [code(/^edit$/, 'starts an editor')] },
      // What it checks out is written.
      { verbs: ['worktree'], paths: 'write', textOptions: ['--reason'] },
      {
        verbs: ['maintenance'],
        paths: 'text',
        cautions: [
          code(/^(?:start|register)$/, 'plants jobs that run later'),
          { word: /^(?:--task=)?prefetch$|^--sched/, concern: 'network_blocked', message: 'another repository' },
        ],
      },
      {
        verbs: ['submodule'],
        paths: 'list',
        cautions: [
          {
            word: /^(?!submodule$|status$|summary$|-|[\w./-]+\/)/,
            concern: 'network_blocked',
            message: 'another repository, or commands in each',
          },
        ],
      },
      {
        verbs: ['bisect'],
        paths: 'text',
        cautions: [code(/^(?:run|visualize|view|replay)$/, 'runs another program')],
      },
      {
        verbs: words(
          'fetch pull push clone ls-remote send-email request-pull svn p4 cvsimport archimport imap-send http-push fetch-pack send-pack subtree credential',
        ),
        concern: 'network_blocked',
        message: 'another repository',
      },
      {
        verbs: ['lfs'],
        paths: 'text',
        cautions: [
          {
            word: /^(?!lfs$|(?:ls-files|status|version|env|track|untrack|pointer)$|\*?\.?\w+$|-(?:-all|-size|-long|-name-only|-json|-porcelain|[lsnaIX])$)|^(?:fetch|pull|push|clone|install|update|lock|unlock|locks|migrate|prune|checkout|fsck|dedup|logs|smudge|clean|filter|post|pre|standalone|merge)/,
            concern: 'network_blocked',
            message: 'another repository',
          },
        ],
      },
      { verbs: ['config'], concern: 'CONTROL_FILE', message: 'settings that can run programs' },
      {
        verbs: words(
          'filter-branch difftool mergetool daemon instaweb gui citool web--browse hook replace fast-import fast-export shell update-server-info credential-store credential-cache update-ref filter-repo annex',
        ),
        concern: 'runs_other_code',
        message: 'runs another program or rewrites history',
      },
    ],
    justification: 'works in this repository',
    match: [
      'git status --porcelain=v1 -b',
      'git diff --stat HEAD~1',
      'git commit -m "fix: remove sudo and curl usage"',
      'git add -A',
      'git stash',
      'git show HEAD:README.md',
      'git log --oneline -n 5',
      'git checkout -b feature/x',
      'git log --grep="rm -rf /"',
      'git restore src/index.ts',
      'git log -p',
    ],
    notMatch: [
      'git push origin main',
      "git -c core.pager='sh -c id' log",
      'git config core.hooksPath ./h',
      'git -C /outside status',
      'git --exec-path=./evil status',
      'git diff --ext-diff',
      'git log --output=/outside/x',
      'git diff --no-index /etc/shadow /dev/null',
      'git diff --no-index -u /etc/shadow /dev/null',
      'git diff --no-index -m .env a.txt',
      'git show -m --output=../x',
      'git commit -F .env',
      'git tag -F .env v1',
      "git rebase -x 'curl x' HEAD~1",
      'git bisect run curl x',
      'git clone https://x/y',
      'git grep --open-files-in-pager=./x y',
      'git init --template=./evil',
      'git worktree add /outside/w',
      'git worktree add -f .git/x',
      'git maintenance run --task=prefetch',
      'git maintenance run --task prefetch',
      'git submodule foreach id',
      'git evil-alias',
    ],
  },
];
