/**
 * git: ordinary work in this repository. SECURITY: a repository's configuration can run programs; whoever runs git for us does so with
 * `core.fsmonitor`, `core.hooksPath` and the pager switched off, in the sandbox.
 */
import type { Caution, ToolRule, VerbGroup } from '../tool-rule.ts';
import { words } from '../words.ts';

const code = (word: RegExp, message: string): Caution => ({ word, concern: 'runs_other_code', message });
const message = [
  '-m',
  '--message',
  '--author',
  '--date',
  '--format',
  '--pretty',
  '--grep',
  '-S',
  '-G',
  '--since',
  '--until',
  '--after',
  '--before',
  '-L',
  '--committer',
  '-am',
  '--trailer',
  '-u',
  '--cleanup',
  '--sort',
  '--fixup',
  '--squash',
];
/** Behind the verb. What may stand before it is `git-command.ts`'s. */
const cautions: readonly Caution[] = [
  code(
    // `git` takes any unambiguous start of a long option, so starts count as the whole.
    /^(?:--(?:config|exec|upload|receive|ext-|textc|open-f|extc|tool|temp|unsafe|gpg|smtp|strategy(?!-option)|interactive|separate|show-sig|recurse-s|filters|refs$|editor|local-env|ed(?:it|itor)?$|edit-d|exe(?:=|$)|gp(?:=|$)|stdin-paths)|-O)/,
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
const quiet = (...verbs: readonly string[]): VerbGroup => ({ verbs, paths: 'list', textOptions: message });
const reads = (...verbs: readonly string[]): VerbGroup => ({ verbs, paths: 'read', textOptions: message });

export const gitRules: readonly ToolRule[] = [
  {
    id: 'workspace.git',
    programs: ['git'],
    paths: 'list',
    textOptions: message,
    cautions,
    verbs: [
      reads(
        ...words(
          'status diff log show rev-parse rev-list ls-files ls-tree describe shortlog reflog cat-file for-each-ref show-ref name-rev merge-base diff-tree diff-index diff-files check-ignore check-attr count-objects whatchanged range-diff cherry symbolic-ref var version --version grep stripspace fsck verify-commit show-branch archive hash-object update-index rerere stash merge-tree format-patch verify-pack',
        ),
      ),
      quiet(
        ...words(
          'restore reset rm apply am sparse-checkout worktree bundle gc prune pack-refs clean read-tree write-tree mktag commit-tree',
        ),
      ),
      {
        verbs: words('commit merge revert cherry-pick'),
        paths: 'list',
        textOptions: message,
        cautions: [code(/^-S/, 'signs, which starts another program')],
      },
      { verbs: ['checkout', 'switch', 'branch'], paths: 'list', takesNames: true, textOptions: message },
      {
        verbs: ['tag'],
        paths: 'list',
        takesNames: true,
        textOptions: message,
        cautions: [code(/^-(?:s|u|v|[asf]*s)$|^--(?:sign|local|verify)/, 'signs, which starts another program')],
      },
      { verbs: ['rebase'], paths: 'list', cautions: rebase },
      {
        verbs: ['remote'],
        paths: 'list',
        cautions: [
          { word: /^(?!remote$|-v$|--verbose$|get-url$|-n$|origin$|upstream$)/, concern: 'network_blocked', message: 'another repository' },
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
      { verbs: ['notes'], paths: 'list', textOptions: message, cautions: [code(/^edit$/, 'starts an editor')] },
      { verbs: ['maintenance'], paths: 'text', cautions: [code(/^(?:start|register)$/, 'plants jobs that run later')] },
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
      "git rebase -x 'curl x' HEAD~1",
      'git bisect run curl x',
      'git clone https://x/y',
      'git grep --open-files-in-pager=./x y',
      'git init --template=./evil',
      'git worktree add /outside/w',
      'git submodule foreach id',
      'git evil-alias',
    ],
  },
];
