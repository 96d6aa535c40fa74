/** Test runners, linters, formatters: what they run is the project's own code, which the sandbox holds. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { checkerNames, watchfulNames } from './checker-names.ts';
import { inspects, servers, watches } from './endless.ts';

/** What is asked about tools that check, test and build; rules of single ones begin with it. */
export const checks: ToolRule = {
  id: 'workspace.check',
  takesAnyVerb: true,
  programs: checkerNames,
  paths: 'write',
  textOptions: [
    '-k',
    '-m',
    '-t',
    '--grep',
    '--testNamePattern',
    '-g',
    '--filter',
    '--ext',
    '--tag',
    '--tags',
    '--tests',
    '--base',
    '--base-href',
    '--public-url',
    '--exclude',
    '--extend-exclude',
    '--force-exclude',
    '--ignore-pattern',
    '--testPathPattern',
    '--testPathIgnorePatterns',
  ],
  cautions: [
    watches,
    inspects,
    {
      // `--post-run-command`, `--test-command`, `--after-run-hook`.
      word: /^--(?:[\w]+-)+(?:command|cmd|hook|exec)(?:=|$)|^--(?:build-and-test|build-run-dir|exec|command|cmd)(?:=|$)/,
      concern: 'runs_other_code',
      message: 'runs another program',
    },
    {
      word: /^(?:--pdb|--pastebin|--debugger|--remote|--cache-location=\/)/,
      concern: 'runs_other_code',
      message: 'opens a debugger or sends something',
    },
    { word: /^https?:\/\//, concern: 'network_blocked', message: 'an address' },
    {
      word: /^(?:--?[\w-]+=)?(?:postgres\w*|mysql|mariadb|mssql|sqlserver|mongodb(?:\+srv)?|rediss?|amqps?|wss?|ftp|ssh|s3|gs):\/\//,
      concern: 'network_blocked',
      message: 'an address',
    },
  ],
  // What they are given is a name and no verb: `ctest --preset debug`.
  valueOptions: [
    '--preset',
    '--config',
    '--mode',
    '--env',
    '--profile',
    '--target',
    '--build-config',
    '-C',
    '--shard',
    '--outdir',
    '--out-dir',
  ],
  verbs: [
    servers,
    {
      verbs: [
        ...words(
          'install add publish publishSigned publishM2 sonatypeRelease sonatypeBundleRelease ci-release release deploy upload login update upgrade codegen open debug show-trace show-report pub deps.get deps.update',
        ),
        ...words('local.hex hex.publish archive.install get-deps resolve autoupdate try-repo register'),
      ],
      concern: 'network_blocked',
      message: 'needs the network or a window',
      unless: /^--(?:dry-run|dry|offline)$/,
    },
    {
      verbs: ['runner', 'exec', 'shell', 'repl', 'eval', 'ghci', 'console', 'consoleQuick', 'consoleProject'],
      concern: 'runs_other_code',
      message: 'runs code of the command line',
    },
  ],
  justification: 'checks, tests and builds the project; its code runs in the sandbox',
  match: ['npx eslint src --ext .ts', 'npx vitest run', 'ruff check .', 'prettier --write src', 'jest -t "curl x"'],
  notMatch: ['npx vitest --watch', 'jest --watchAll', 'npx webpack serve', 'pre-commit install', 'eslint /outside', 'vitest --inspect-brk'],
};

export const checkerRules: readonly ToolRule[] = [
  checks,
  {
    ...checks,
    id: 'workspace.watchful',
    programs: watchfulNames,
    cautions: [...(checks.cautions ?? []), { word: /^-[a-z]{0,2}w$/, concern: 'never_ends', message: 'watches for ever' }],
    match: ['npx mocha --recursive', 'rollup -c', 'webpack --mode production'],
    notMatch: ['rollup -c -w', 'mocha -w', 'webpack serve', 'webpack --watch'],
  },
  {
    id: 'workspace.pytest',
    takesAnyVerb: true,
    programs: ['pytest', 'py.test'],
    paths: 'write',
    textOptions: ['-k', '-m', '--tb', '-W', '-r', '--durations', '--maxfail', '-n'],
    cautions: [
      inspects,
      { word: /^--(?:pdb|trace|pastebin|looponfail|f$)/, concern: 'runs_other_code', message: 'opens a debugger or sends something' },
    ],
    justification: 'tests the project; its code runs in the sandbox',
    match: ['pytest -q', 'pytest tests/test_sudo.py', 'pytest -k "a and not b" --tb=short'],
    notMatch: ['pytest --pdb', 'pytest --trace', 'pytest /outside', 'pytest --pastebin=all'],
  },
];
