/** Package managers: running scripts of the project is work, fetching and publishing needs a person. */
import type { Caution, ToolRule, VerbGroup } from '../tool-rule.ts';
import { words } from '../words.ts';

const configuration: Caution = {
  word: /^--(?:script-shell|globalconfig|userconfig|cache|node-options|shell|global-folder|modules-dir|store-dir|registry|location|init-module|git|editor|browser|viewer)\b/,
  concern: 'environment',
  message: 'changes where packages go or which programs are run',
};
const everywhere: Caution = {
  word: /^(?:-g|--(?:global|location=global|user|root|system|break-system-packages)(?:=.*)?)$/,
  concern: 'environment',
  message: 'changes what every project shares',
};
const network = (...verbs: readonly string[]): VerbGroup => ({ verbs, concern: 'network_blocked', message: 'needs the network' });
/** They fetch unless they are told to take what is on the machine. */
const fetching = (verbs: string, unless: RegExp): VerbGroup => ({ ...network(...words(verbs)), unless, cautions: [everywhere] });
const addresses: Caution = {
  word: /^(?:-\S+=)?(?:git|svn|hg|bzr|https?|ssh)(?:\+\w+)?:/,
  concern: 'network_blocked',
  message: 'an address',
};
const servers: VerbGroup = {
  verbs: ['serve', 'preview', 'watch'],
  concern: 'never_ends',
  message: 'a server that runs until it is stopped',
};

export const packageRules: readonly ToolRule[] = [
  {
    id: 'workspace.npm',
    programs: ['npm'],
    paths: 'write',
    textOptions: ['-w', '--workspace'],
    valueOptions: ['--prefix', '-C'],
    cautions: [
      configuration,
      {
        word: /^scripts\.(?:pre|post)?(?:install|prepare|pack|publish|uninstall)\b/,
        concern: 'environment',
        message: 'a script that installing would run',
      },
    ],
    verbs: [
      {
        verbs: words(
          'run run-script rum urn test t tst start stop restart version pack explain why help query fund shrinkwrap prune rebuild uninstall remove rm un --version -v pkg',
        ),
        cautions: [everywhere],
      },
      { verbs: words('ls list ll la bin root prefix') },
      fetching(
        'install i in ins inst insta instal isnt isnta isntal isntall add ci clean-install ic install-clean install-test it install-ci-test cit update up upgrade udpate outdated dedupe ddp audit',
        /^--offline$/,
      ),
      network(
        ...words(
          'exec x create publish unpublish deprecate dist-tag owner access team org login logout adduser whoami token profile view v info show search ping doctor star hook sbom docs repo bugs home diff stage',
        ),
      ),
      {
        verbs: words('config c set get link ln edit explore cache completion'),
        concern: 'environment',
        message: 'changes settings or links',
      },
      { verbs: ['init', 'innit'], concern: 'network_blocked', message: 'may download an initializer' },
    ],
    justification: 'runs scripts of the project and prints what is installed',
    match: ['npm test', 'npm run build', 'npm ls --depth=0', 'npm run test:inspect-output', 'npm run format', 'npm test -- --grep x'],
    notMatch: [
      'npm install',
      'npm publish',
      'npm exec -y evil-pkg',
      'npm config set prefix /outside',
      'npm i -g x',
      'npm --script-shell=./x test',
      'npm',
      'npm unknownverb',
    ],
  },
  {
    id: 'workspace.pnpm',
    programs: ['pnpm', 'yarn', 'bun'],
    paths: 'write',
    textOptions: ['--filter', '-F', '--workspace'],
    valueOptions: ['-C', '--dir', '--cwd'],
    cautions: [
      configuration,
      everywhere,
      {
        word: /^--(?:inspect|preload|hot|watch(?!(?:All|-all)?=false))/,
        concern: 'runs_other_code',
        message: 'a debugger, a server or preloaded code',
      },
    ],
    verbs: [
      fetching('install i add update up fetch outdated', /^--offline$/),
      network(
        ...words(
          'a upgrade upgrade-interactive dlx x create publish audit deploy import set self-update env login logout npm info view global link unlink config plugin patch patch-commit init store server setup policies remove rm rb rebuild approve-builds repl',
        ),
      ),
      {
        verbs: ['pm'],
        cautions: [
          {
            word: /^(?:trust|default-trusted|migrate|whoami|view|cache|pack|pkg)$/,
            concern: 'environment',
            message: 'changes what installing does',
          },
        ],
      },
      servers,
      { verbs: ['--version', '-v', '--help'] },
      { verbs: [undefined], concern: 'network_blocked', message: 'installs packages' },
    ],
    justification: 'runs scripts of the project',
    match: ['pnpm -r run build', 'pnpm test', 'yarn build', 'bun test', 'pnpm --filter web build', 'yarn run lint'],
    notMatch: [
      'pnpm add x',
      'yarn',
      'bunx evil',
      'pnpm dlx evil',
      'pnpm --loglevel silent add x',
      'yarn --mutex file add x',
      'bun --inspect x.ts',
      'yarn install',
      'bun install',
    ],
  },
  {
    id: 'workspace.deno',
    programs: ['deno'],
    paths: 'write',
    cautions: [
      {
        word: /^--(?:inspect|import-map|cert|location|allow-ffi|allow-run|allow-net|watch|reload)|^(?:npm|jsr|https?):|^-$/,
        concern: 'runs_other_code',
        message: 'a debugger, other code or the network',
      },
    ],
    verbs: [
      { verbs: words('test fmt lint check task run doc info bench coverage --version') },
      network(...words('install i add remove upgrade publish outdated cache compile eval repl jupyter serve lsp uninstall deploy')),
    ],
    justification: 'runs, checks and tests code of the project',
    match: ['deno test', 'deno fmt --check', 'deno run main.ts'],
    notMatch: ['deno run https://evil/x.ts', 'deno run --inspect x.ts', 'deno install x', 'deno run npm:evil'],
  },
  {
    id: 'workspace.pip',
    programs: words('pip pip3 uv poetry pipenv pdm hatch rye bundle bundler pub'),
    paths: 'write',
    cautions: [addresses],
    verbs: [
      {
        verbs: words(
          'list show freeze check --version inspect help tree version build validate test env info why venv graph export debug hash format fmt lint status dep project platform doctor',
        ),
        cautions: [{ word: /^(?:use|remove|create|prune|run)$/, concern: 'environment', message: 'changes settings' }],
      },
      { verbs: ['run', 'exec', 'run-script'], concern: 'unclear', message: 'a program that was not recognised' },
      fetching('install wheel download sync add remove outdated', /^--(?:no-index|offline|local)$/),
      fetching('lock', /^--(?:check|locked|offline|local)$/),
      network(
        ...words(
          'update upgrade publish pip tool python self search index cache config uninstall require create-project login x upload global',
        ),
      ),
    ],
    justification: 'prints what is installed and builds the project',
    match: ['pip list', 'pip freeze', 'poetry check'],
    notMatch: [
      'pip install x',
      'pip download http://x/y.whl',
      'uv sync',
      'poetry add x',
      'bundle install',
      'pip install --target /outside x',
      'poetry publish',
    ],
  },
  {
    id: 'workspace.composer',
    programs: ['composer'],
    paths: 'write',
    takesAnyVerb: true,
    cautions: [{ word: /^(?:-d|--working-dir)/, concern: 'PATH_OUTSIDE_WORKSPACE', message: 'another project' }],
    verbs: [
      network(
        ...words(
          'install i update u upgrade require r remove rm create-project self-update selfupdate outdated audit search browse home archive reinstall bump suggests diagnose prohibits',
        ),
      ),
      {
        verbs: words('config global exec clear-cache clearcache cc init'),
        concern: 'environment',
        message: 'changes settings or runs a program by name',
      },
    ],
    justification: 'runs scripts of the project and prints what is installed',
    match: ['composer test', 'composer run-script lint', 'composer validate', 'composer dump-autoload -o'],
    notMatch: ['composer install', 'composer require x/y', 'composer global require x', 'composer config x y'],
  },
];
