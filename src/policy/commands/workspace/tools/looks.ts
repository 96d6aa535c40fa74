/** Programs that explain, show what runs and what is there, and make temporary places. */
import { isSecretVariable } from '../secret-variables.ts';
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';

export const lookRules: readonly ToolRule[] = [
  {
    id: 'workspace.manual',
    programs: words('man apropos whatis help info pydoc pydoc3 perldoc'),
    paths: 'text',
    cautions: [
      // A page is named by a word; options name pagers, browsers, files and servers.
      {
        word: /^(?!(?:-[kfaws]|--version|--help|[\w+:.@[\]-]*\w[\w+:.@[\]-]*)$)|^(?!-)-|^-[^kfaws-]|\.\./,
        concern: 'unclear',
        message: 'an option or a page that is not known to be harmless',
      },
    ],
    justification: 'prints a page of the manual',
    match: ['man git-rebase', 'man 3 printf', 'man -k socket', 'help cd', 'info coreutils', 'pydoc3 json'],
    notMatch: [
      "man -P 'sh -c id' ls",
      "man --html='touch x' ls",
      'man -H ls',
      'man -C evil ls',
      'man ./evil.1',
      'info -o /outside/x ls',
      'pydoc3 -p 8000',
      'pydoc3 ../x',
    ],
  },
  {
    id: 'workspace.devices',
    programs: words('lsblk lsmem lsusb lspci lsmod findmnt blkid nvidia-smi rocm-smi system_profiler ipcs'),
    paths: 'text',
    takesUnknown: true,
    cautions: [
      {
        word: /^-(?!(?:[a-zA-Z]{1,4}|-(?:json|output|help|version|all|bytes|fs|query-\w+|format|list-gpus|raw|noheadings)(?:=[\w.,: ]+)?)$)|\/|^-(?:gpu|pm|pl|r|lgc|c|g|e|i)$|^-\w*[rF]\w*$/,
        concern: 'unclear',
        message: 'an option that is not known to only look',
      },
    ],
    justification: 'prints which devices the machine has and how busy they are',
    match: [
      'lsblk',
      'lsblk -o NAME,SIZE',
      'nvidia-smi',
      'nvidia-smi -L',
      'nvidia-smi --query-gpu=name,memory.total --format=csv',
      'findmnt',
    ],
    notMatch: [
      'nvidia-smi -r',
      'nvidia-smi --gpu-reset',
      'nvidia-smi -pm 1',
      'nvidia-smi -f /outside/x',
      'nvidia-smi --filename=x',
      'lsblk /outside',
    ],
  },
  {
    id: 'workspace.free-space',
    programs: ['df'],
    paths: 'text',
    cautions: [
      {
        word: /^-(?!(?:[haTHikPlm]+|-(?:output|human-readable|total|type|exclude-type|local|inodes)(?:=[\w,]+)?|[xtB]\w*)$)/,
        concern: 'unclear',
        message: 'an option that is not known',
      },
    ],
    justification: 'prints how full the file systems are',
    match: ['df -h', 'df -h .', 'df -Th /', 'df -h --output=avail .'],
    notMatch: ['df --sync x', 'df --output=../x'],
  },
  {
    id: 'workspace.terminal',
    programs: ['stty'],
    paths: 'text',
    needsOperand: true,
    cautions: [{ word: /^(?!(?:size|-a|--all|-g)$)/, concern: 'unclear', message: 'changes the terminal' }],
    justification: 'prints how large the terminal is',
    match: ['stty size', 'stty -a'],
    notMatch: ['stty -echo', 'stty -F /dev/ttyS0'],
  },
  {
    id: 'workspace.temporary',
    programs: ['mktemp'],
    paths: 'text',
    cautions: [
      {
        word: /^(?!(?:-[dqut]+|--directory|--quiet|--dry-run|--tmpdir|--suffix=[\w.-]+|-p|\.|(?:\/tmp\/|\.\/)?[\w.-]*X{3}[\w.-]*)$)|\.\./,
        concern: 'PATH_OUTSIDE_WORKSPACE',
        message: 'a place outside',
      },
    ],
    justification: 'makes a new temporary file or directory',
    match: [
      'mktemp',
      'mktemp -d',
      'mktemp -t build.XXXXXX',
      'mktemp /tmp/x.XXXXXX',
      'mktemp ./x.XXXXXX',
      'd=$(mktemp -d) && cp a.txt "$d" && rm -rf "$d"',
    ],
    notMatch: [
      'mktemp -p /outside',
      'mktemp /outside/x.XXXXXX',
      'mktemp ./../x.XXXXXX',
      'mktemp --tmpdir=/outside',
      'd=$(mktemp -d); rm -rf "$d/../x"',
    ],
  },
  {
    id: 'workspace.substitute',
    programs: ['envsubst'],
    paths: 'read',
    textFirst: true,
    codeFault: namedSecret,
    cautions: [{ word: /^-(?!(?:-variables|-help|-version|[vhV])$)/, concern: 'unclear', message: 'an option that is not known' }],
    justification: 'fills variables of the environment into a template',
    match: ['envsubst < template.yaml > out.yaml', "envsubst '$VERSION $NAME' < a.tpl", "echo 'v$VERSION' | envsubst"],
    notMatch: [
      "envsubst '$NPM_TOKEN' < a.tpl",
      "envsubst <<< '$AWS_SECRET_ACCESS_KEY'",
      "echo '$GH_TOKEN' | envsubst",
      'envsubst < .env',
      'envsubst < a.tpl > /outside/x',
    ],
  },
  {
    id: 'workspace.lettering',
    programs: words('figlet toilet banner lolcat'),
    paths: 'text',
    takesUnknown: true,
    cautions: [
      {
        word: /^-(?!(?:[wckstlrpnWCFS]|\d+|F \w+|-(?:gay|metal|filter=?\w*))+$)/,
        concern: 'unclear',
        message: 'an option that is not known',
      },
    ],
    justification: 'prints a text in large letters',
    match: ['figlet done', 'echo ok | lolcat'],
    notMatch: ['figlet -f ../x hi', 'figlet -d /outside hi'],
  },
  {
    id: 'workspace.endless-text',
    programs: ['yes'],
    paths: 'text',
    takesUnknown: true,
    justification: 'repeats a text for who takes a part of it',
    match: ['yes | head -n 3', 'yes abc | head -c 1k > x.txt'],
    notMatch: ['yes > /dev/null', 'yes | head -c 100G > x', 'yes'],
  },
];

/** A template that shows a secret variable. */
export function namedSecret(text: string): string | undefined {
  const named = [...text.matchAll(/\$\{?(\w+)/g)].find(([, name = '']) => isSecretVariable(name));
  return named === undefined ? undefined : `\`$${named[1]}\` may hold a secret`;
}
