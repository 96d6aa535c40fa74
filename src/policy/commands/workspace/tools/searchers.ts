/** Programs that search files: the first operand is what is looked for, unless an option gave it. */
import type { Caution, ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { runsOrLoads } from './endless.ts';

const runs: Caution = {
  word: /^(?:--pre(?!-glob)|--hostname-bin|--pager|-x$|-X$|--exec|--exec-batch|--search-zip|--noent|--xinclude|--load-trace|--rewrite)/,
  concern: 'runs_other_code',
  message: 'runs another program or loads other files',
};
const followsLinks: Caution = {
  word: /^(?:-R|--dereference-recursive|--follow|-[A-Za-z]*R[A-Za-z]*$)/,
  concern: 'SYMLINK_OUTSIDE_WORKSPACE',
  message: 'follows links',
};

/** What they share; which options take a word differs. */
const search: Omit<ToolRule, 'id' | 'programs' | 'justification' | 'match' | 'notMatch'> = {
  paths: 'read',
  printsOnly: true,
  takesPipes: true,
  choosing: /^(?:-g|--i?glob(?:=|$)|--include(?:=|$))(.*)$/s,
  textFirst: ['-e', '--regexp', '-f', '--file', '--files', '--type-list'],
  textGiven: /^-[a-zA-Z0-9]*[ef]/,
  textOptions: [
    '-e',
    '--regexp',
    '-g',
    '--glob',
    '--iglob',
    '--include',
    '--exclude',
    '--exclude-dir',
    '-t',
    '--type',
    '-T',
    '--type-not',
    '--type-add',
  ],
  cautions: [runsOrLoads, runs, followsLinks],
};

export const searchRules: readonly ToolRule[] = [
  {
    ...search,
    id: 'workspace.search',
    programs: words('grep egrep fgrep zgrep'),
    // SECURITY: letters in front of the last must be flags of grep; one too many here and a file would pass as the pattern.
    beforeText:
      /^(?:-[abcEFGhHiIlLnoPqrsTUvwxyzZ]*[ABCmdD]|--(?:max-count|after-context|before-context|context|label|binary-files|directories|devices|exclude-from))$/,
    justification: 'searches files of the workspace',
    match: [
      'grep -rn TODO src',
      '! grep -q TODO src/index.ts',
      "grep -E '/etc/passwd' src/index.ts",
      "grep -rnA 3 '/api/users' src",
      "grep -m 1 '^/usr' a.txt",
    ],
    notMatch: [
      'grep -r token ~/.config',
      'grep x /etc/passwd',
      'grep -R x .',
      'grep -f /etc/shadow x',
      'grep KEY .env',
      'grep -m 1 x /etc/passwd',
      'grep -A 3 -B 3 x /etc/passwd',
      'grep -A /etc/passwd x y',
      'grep -q x /etc/passwd',
      'grep -fA /etc/passwd',
      'grep -nex /etc/passwd',
    ],
  },
  {
    ...search,
    id: 'workspace.ripgrep',
    programs: ['rg'],
    cautions: [...(search.cautions ?? []), { word: /^-[A-Za-z0-9]*L/, concern: 'SYMLINK_OUTSIDE_WORKSPACE', message: 'follows links' }],
    beforeText:
      /^(?:-[abcFHhiIlnNopPqsSuUvVwxz0.]*[ABCmdjMEr]|--(?:max-count|after-context|before-context|context|max-depth|maxdepth|max-columns|max-filesize|threads|replace|sort|sortr|encoding|engine|color|colors|ignore-file|context-separator|field-context-separator|field-match-separator|path-separator|dfa-size-limit|regex-size-limit))$/,
    justification: 'searches files of the workspace',
    match: ["rg 'fn main' src", 'rg -n x', "rg -C 2 '/api' src", "rg -t ts -A 2 '../foo' src", "rg -r '$1' '/v1/(.*)' src"],
    notMatch: ['rg --pre ./x pat', 'rg --ignore-file /etc/shadow x', 'rg -A 3 x /etc/passwd', 'rg -l x /etc/passwd', 'rg x .env'],
  },
  {
    ...search,
    id: 'workspace.find-names',
    programs: ['fd', 'fdfind'],
    textOptions: ['-e', '--extension', '-t', '--type', '-E', '--exclude', '-o', '--owner', '-c', '--color', '--format'],
    beforeText:
      /^(?:-[HIusigFalp01q]*[dSjC]|--(?:max-depth|min-depth|exact-depth|maxdepth|size|changed-within|changed-before|newer|older|threads|max-results|batch-size|base-directory|search-path|ignore-file|path-separator))$/,
    textFirst: true,
    textGiven: /^\0$/,
    cautions: [
      ...(search.cautions ?? []),
      { word: /^-[A-Za-z0-9]*[xX]/, concern: 'runs_other_code', message: 'runs another program' },
      { word: /^-[A-Za-z]*L/, concern: 'SYMLINK_OUTSIDE_WORKSPACE', message: 'follows links' },
    ],
    justification: 'finds files of the workspace by name',
    match: ['fd -e ts', 'fd foo src', 'fd -H -d 2 config', 'fd -t f -E node_modules x'],
    notMatch: [
      'fd -x rm',
      'fd -C /etc x',
      'fd --base-directory /etc x',
      'fd --search-path /etc x',
      'fd x /etc',
      'fd -d 2 x /etc',
      'fd -L x',
      'fd -HIx rm',
    ],
  },
  {
    ...search,
    id: 'workspace.search-others',
    programs: words('ugrep ag ast-grep ack comby csvgrep'),
    // Not ack, whose `-C` may stand without a number.
    beforeText: /^(?:-p|--path-to-ignore|--ignore-file)$/,
    justification: 'searches files of the workspace',
    match: ['ag TODO', 'ack foo src', "ugrep 'x' src"],
    notMatch: ['ag --pager id x', 'ack x /etc/passwd', 'ag --path-to-ignore /etc/x y'],
  },
];
