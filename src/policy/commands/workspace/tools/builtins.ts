/** Shell builtins and programs that only print what the command line or the machine says. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';

export const builtinRules: readonly ToolRule[] = [
  {
    id: 'workspace.print',
    programs: words(
      'echo printf true false : expr exit return break continue shift basename dirname jobs clear tput bc factor cal numfmt tr uuidgen hash figlet cowsay c++filt units banner toilet',
    ),
    paths: 'text',
    takesUnknown: true,
    cautions: [{ word: /^-v$/, concern: 'unclear', message: 'an assignment by `-v`' }],
    justification: 'prints, compares or sets shell variables; touches no file',
    match: ['echo "$(git rev-parse --short HEAD)"', "echo 'rm -rf /'", 'true'],
    notMatch: ['echo x > /etc/passwd', 'echo $(curl http://x)'],
  },
  {
    id: 'workspace.seq',
    programs: ['seq', 'jot'],
    paths: 'text',
    takesUnknown: true,
    cautions: [{ word: /^-?\d{8,}|^inf|^-?\d+(?:\.\d+)?e/i, concern: 'never_ends', message: 'a very long count' }],
    justification: 'counts',
    match: ['seq 10', 'seq 1 2 10', 'seq -w 1 100'],
    notMatch: ['seq 1 999999999999', 'seq inf', 'seq 1e12'],
  },
  {
    id: 'workspace.test',
    programs: ['test', '['],
    paths: 'text',
    takesUnknown: true,
    cautions: [
      { word: /\[.*(?:\$|`)/s, concern: 'unclear', message: 'an index in which a command may stand' },
      { word: /^-v$/, concern: 'unclear', message: 'an index in which a command may stand' },
    ],
    justification: 'compares',
    match: ['test -d dist', '[ -f package.json ]'],
    notMatch: ["test -v 'a[$(id)]'"],
  },
  {
    id: 'workspace.names',
    programs: words('read local unset getopts wait mapfile readarray'),
    paths: 'text',
    takesUnknown: true,
    cautions: [
      { word: /\[.*(?:\$|`)/s, concern: 'unclear', message: 'an index in which a command may stand' },
      { word: /^-[vpCc]$/, concern: 'unclear', message: 'an assignment, a prompt or a callback' },
      {
        word: /^(?:PATH|HOME|SHELL|PWD|OLDPWD|CDPATH|GLOBIGNORE|BASH_.*|LD_.*|DYLD_.*|PS\d|PROMPT_COMMAND|NODE_(?:OPTIONS|PATH)|PYTHON(?:PATH|STARTUP|HOME)|PERL5.*|RUBY(?:OPT|LIB)|GIT_.*|TMPDIR|XDG_.*)$/,
        concern: 'environment',
        message: 'changes how programs run',
      },
    ],
    justification: 'sets shell variables that are named by words',
    match: ['read -r x', 'mapfile -t lines < a.txt'],
    notMatch: ['read -r PATH', "read 'a[$(id)]'", 'mapfile -C x a'],
  },
  {
    id: 'workspace.machine',
    programs: words(
      'pwd whoami id groups uname nproc arch uptime free tty locale which type lscpu sw_vers tasklist times ulimit umask command users whereis lsb_release logname',
    ),
    paths: 'text',
    justification: 'prints facts about the machine and the user',
    match: ['pwd', 'uname -a', 'which node'],
    notMatch: ['pwd > /outside/x'],
  },
  {
    id: 'workspace.printenv',
    programs: ['printenv'],
    paths: 'text',
    needsOperand: true,
    cautions: [
      {
        word: /^-|(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS?|PAT)(?:_|$)/i,
        concern: 'SECRET_VARIABLE',
        message: 'variables of the environment may hold secrets',
      },
    ],
    justification: 'prints single variables',
    match: ['printenv PATH', 'printenv NODE_ENV'],
    notMatch: ['printenv', 'printenv -0', 'printenv NPM_TOKEN'],
  },
  {
    id: 'workspace.ps',
    programs: ['ps'],
    paths: 'text',
    cautions: [
      { word: /^-[A-Za-z]*[eE][A-Za-z]*w|^[a-zA-Z]*e[a-zA-Z]*$|environ/, concern: 'SECRET_FILE', message: 'the environment of processes' },
    ],
    justification: 'prints processes',
    match: ['ps aux', 'ps -ef', 'ps -p 1'],
    notMatch: ['ps auxe', 'ps eww', 'ps -eo environ'],
  },
  {
    id: 'workspace.date',
    programs: ['date'],
    paths: 'text',
    cautions: [
      { word: /^(?:-[A-Za-z]*s|--set|\d{6,}(?:\.\d\d)?$)/, concern: 'destructive', message: 'sets the clock' },
      { word: /^(?:-[fr]|--file|--reference)/, concern: 'unclear', message: 'reads a file' },
    ],
    justification: 'prints the time',
    match: ['date +%F', "date -u '+%F %T'"],
    notMatch: ['date -s 2000-01-01', 'date 010100002000', 'date -f /etc/shadow'],
  },
  {
    id: 'workspace.hostname',
    programs: ['hostname'],
    paths: 'text',
    cautions: [{ word: /^(?:[^-]|-F|-b|--file|--boot)/, concern: 'destructive', message: 'sets the name of the machine' }],
    justification: 'prints the name of the machine',
    match: ['hostname', 'hostname -f'],
    notMatch: ['hostname x', 'hostname -F x'],
  },
  {
    id: 'workspace.set',
    programs: ['set', 'shopt'],
    paths: 'text',
    needsOperand: true,
    cautions: [
      {
        word: /^(?!(?:-[euxvfoC]+|\+[euxvfoC]+|pipefail|errexit|nounset|xtrace|verbose|noglob|noclobber|-s|-u|nullglob|globstar|dotglob|failglob|nocaseglob|--)$)/,
        concern: 'unclear',
        message: 'an option of the shell that changes what commands mean',
      },
    ],
    justification: 'makes a script stop at errors and the like',
    match: ['set -e', 'set -euo pipefail', 'shopt -s globstar'],
    notMatch: ['set -m', 'shopt -s expand_aliases', 'set -o allexport'],
  },
  {
    id: 'workspace.sleep',
    programs: ['sleep'],
    paths: 'text',
    cautions: [{ word: /^(?!\d{1,2}(?:\.\d+)?s?$|[1-5]?\d{2}s?$|[1-9]m$)/, concern: 'never_ends', message: 'a very long wait' }],
    needsOperand: true,
    justification: 'waits for a short time',
    match: ['sleep 1', 'sleep 0.5', 'sleep 30s'],
    notMatch: ['sleep 999999', 'sleep 1d', 'sleep infinity'],
  },
];
