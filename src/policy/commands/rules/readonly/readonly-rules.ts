/** The seven programs of `readonly_bash`. */
import type { ProgramRule, Takes } from '../../program-rule.ts';
import { colourChoice, kind, listOf, oneOf, searchPattern, sizeUnit, wholeNumber } from '../../value-kinds.ts';
import { catOptions, grepOptions, headOptions, patternGiven, wcOptions } from '../filter-options.ts';
import { workspaceFile, workspacePath } from './path-kinds.ts';

const timeStyle = oneOf('a time style', 'full-iso', 'long-iso', 'iso', 'locale');
const sortWord = oneOf('a sort order', 'none', 'size', 'time', 'version', 'extension', 'width');
const fileTypes = listOf(oneOf('a type of file', 'b', 'c', 'd', 'f', 'l', 'p', 's'));
const age = kind('a number such as `-7`', /^[+-]?\d{1,6}(?:\.\d{1,3})?$/);
const size = kind('a size such as `+10k`', /^[+-]?\d{1,12}[bcwkMG]?$/);
const mode = kind('a mode such as `/222` or `-u+x`', /^[/-]?(?:[0-7]{1,4}|[ugoa]*[+=-][rwxXst]*(?:,[ugoa]*[+=-][rwxXst]*){0,4})$/);
const account = kind('a name or number', /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/);
/** `-printf`: everything but the escapes that end the output early (`\c`) and control characters. */
const printFormat = kind('an output format', /^[ -~\u00a1-\uffff]{1,500}$/);

const findFlags = [
  ...['(', ')', '!', '-not', '-a', '-and', '-o', '-or', ',', '-true', '-false', '-empty', '-readable', '-writable', '-executable', '-nouser', '-nogroup'],
  ...['-print', '-print0', '-ls', '-prune', '-quit', '-depth', '-d', '-xdev', '-mount', '-daystart', '-noleaf', '-ignore_readdir_race', '-nowarn', '-warn'],
];
/** Not -exec*, -ok*, -delete, -fprint*, -fls (they act), -files0-from (reads a list), -follow (follows links). */
const findWords: Readonly<Record<string, Takes>> = {
  ...Object.fromEntries(findFlags.map((flag) => [flag, null])),
  '-name': searchPattern, '-iname': searchPattern, '-path': searchPattern, '-ipath': searchPattern, '-wholename': searchPattern, '-iwholename': searchPattern,
  '-regex': searchPattern, '-iregex': searchPattern, '-lname': searchPattern, '-ilname': searchPattern,
  '-regextype': oneOf('a syntax of patterns', 'emacs', 'posix-awk', 'posix-basic', 'posix-egrep', 'posix-extended', 'posix-minimal-basic', 'grep', 'egrep', 'awk', 'sed', 'findutils-default'),
  '-type': fileTypes, '-xtype': fileTypes, '-maxdepth': wholeNumber, '-mindepth': wholeNumber,
  '-mtime': age, '-mmin': age, '-atime': age, '-amin': age, '-ctime': age, '-cmin': age, '-used': age,
  '-size': size, '-perm': mode, '-links': age, '-inum': age, '-user': account, '-group': account, '-uid': age, '-gid': age,
  '-newermt': kind('a time', /^[@A-Za-z0-9][A-Za-z0-9 :.,+/-]{0,60}$/), '-newerct': kind('a time', /^[@A-Za-z0-9][A-Za-z0-9 :.,+-]{0,60}$/), '-newerat': kind('a time', /^[@A-Za-z0-9][A-Za-z0-9 :.,+-]{0,60}$/),
  '-newer': workspacePath, '-anewer': workspacePath, '-cnewer': workspacePath, '-samefile': workspacePath,
  '-printf': printFormat,
};

export const readonlyRules: readonly ProgramRule[] = [
  {
    id: 'readonly.ls',
    program: 'ls',
    flags: 'aAbBcCdfFgGhiklmnNopqQrRsStuUvxX1Z',
    values: { I: searchPattern, w: wholeNumber },
    longs: {
      '--all': null, '--almost-all': null, '--directory': null, '--full-time': null, '--human-readable': null, '--si': null, '--inode': null, '--numeric-uid-gid': null, '--no-group': null, '--recursive': null, '--reverse': null,
      '--size': null, '--group-directories-first': null, '--file-type': null, '--time-style': timeStyle, '--sort': sortWord, '--block-size': sizeUnit, '--ignore': searchPattern, '--hide': searchPattern,
      '--time': oneOf('a time', 'atime', 'access', 'use', 'ctime', 'status', 'birth', 'mtime'), '--format': oneOf('a format', 'across', 'commas', 'horizontal', 'long', 'single-column', 'verbose', 'vertical'),
    },
    optional: { '--color': { kind: colourChoice }, '--classify': { kind: colourChoice } },
    operands: { kind: workspacePath, max: 250 },
    role: 'source',
    justification: 'lists names and attributes; `-L` and `-H` would follow links',
    match: ['ls', 'ls -la src', 'ls -R src', 'ls -1 src/*.ts', 'ls --color=never src', 'ls -lhS'],
    notMatch: ['ls -L', 'ls -lH x', 'ls --dereference', 'ls --x'],
  },
  {
    id: 'readonly.cat',
    program: 'cat',
    ...catOptions,
    operands: { kind: workspaceFile, max: 250 },
    role: 'filter',
    justification: 'prints files',
    match: ['cat README.md', 'cat -n src/index.ts', "cat 'dir with space/file name.txt'", 'cat package.json README.md', 'cat -- -rf'],
    notMatch: ['cat', 'cat -', 'cat README.md -', 'cat --x README.md'],
  },
  {
    id: 'readonly.grep',
    program: 'grep',
    ...grepOptions,
    flags: `${grepOptions.flags}r`,
    longs: { ...grepOptions.longs, '--recursive': null, '--include': searchPattern, '--exclude': searchPattern, '--exclude-dir': searchPattern, '--binary-files': oneOf('`text`, `binary` or `without-match`', 'text', 'binary', 'without-match') },
    first: { kind: searchPattern, unless: patternGiven },
    operands: { kind: workspaceFile, max: 250 },
    role: 'filter',
    worksAlone: ['-r', '--recursive'],
    justification: 'searches files; `-f` and `--exclude-from` read others, `-R` follows links out',
    match: ["grep -rn 'TODO' src", 'grep -A2 -B2 main src/index.ts', 'grep -- -foo README.md', 'grep -rn TODO', 'grep -rn --include=*.ts foo .', 'cat README.md | grep -i x', 'grep -e a -e b README.md', 'grep -3 x README.md'],
    notMatch: ['grep -f /etc/shadow README.md', 'grep -R x .', 'grep --exclude-from=x y .', 'grep x', 'grep -rf x y', 'grep --dereference-recursive x .', 'grep --fil=x y README.md'],
  },
  {
    id: 'readonly.find',
    program: 'find',
    flags: 'P',
    words: findWords,
    operands: { kind: workspacePath, max: 250 },
    operandsFirst: true,
    role: 'source',
    justification: 'finds files by name and attributes; what acts on them or follows links is not taken',
    match: ['find . -name "*.ts"', 'find . -maxdepth 2 -type d -not -path "./node_modules/*"', 'find . \\( -name "*.ts" -o -name "*.md" \\) -print', 'find src -empty', 'find', 'find . -name *.ts', 'find . -type f -mtime -7 -size +10k', 'find . ! -name x'],
    notMatch: ['find . -delete', 'find . -exec id \\;', "find . '-exec' id ';'", 'find . -fprintf x %p', 'find . -fprint0 x', 'find . -fls x', 'find -L .', 'find . -ok rm {} \\;', 'find . -follow', 'find -files0-from x', 'find -H src', 'find . -execdir id +', 'find -D tree .'],
  },
  {
    id: 'readonly.wc',
    program: 'wc',
    ...wcOptions,
    operands: { kind: workspaceFile, max: 250 },
    role: 'filter',
    justification: 'counts lines, words and bytes',
    match: ['wc -l src/index.ts', 'ls | wc -l', 'wc README.md'],
    notMatch: ['wc --files0-from=x', 'wc', 'ls | wc -l README.md'],
  },
  ...(['head', 'tail'] as const).map(
    (program): ProgramRule => ({
      id: `readonly.${program}`,
      program,
      ...headOptions,
      operands: { kind: workspaceFile, max: 250 },
      role: 'filter',
      justification: `prints the ${program === 'head' ? 'first' : 'last'} part of files; nothing waits`,
      match: [`${program} -n 20 README.md`, `${program} -20 src/index.ts`, `${program} -c 200 README.md`, `ls | ${program} -5`],
      notMatch: [`${program} -f README.md`, `${program} -F README.md`, `${program} --follow=name README.md`, `${program} --pid=1 README.md`, `${program}`],
    }),
  ),
];
