/** Test runners and task runners of single ecosystems that have words of their own for servers, code and consoles. */
import type { Caution, ToolRule, VerbGroup } from '../tool-rule.ts';
import { words } from '../words.ts';
import { checks } from './checkers.ts';

interface Own {
  readonly programs: string;
  readonly cautions?: readonly Caution[];
  /** Looked for before those of every checker. */
  readonly verbs?: readonly VerbGroup[];
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}

/** The rule of all checkers with more of its own. */
function alike(id: string, { programs, cautions = [], verbs = [], match, notMatch }: Own): ToolRule {
  const all = [...(checks.cautions ?? []), ...cautions];
  return {
    ...checks,
    id: `workspace.${id}`,
    programs: words(programs),
    cautions: all,
    verbs: [...verbs, ...(checks.verbs ?? [])],
    match,
    notMatch,
  };
}

const code = (word: RegExp): Caution => ({ word, concern: 'runs_other_code', message: 'runs code or a program of the command line' });
const endless = (word: RegExp): Caution => ({ word, concern: 'never_ends', message: 'a server, or waits for a person' });
const network = (word: RegExp): Caution => ({ word, concern: 'network_blocked', message: 'needs the network' });

export const taskRunnerRules: readonly ToolRule[] = [
  alike('rake', {
    programs: 'rake',
    cautions: [code(/^(?:-[eEp]|--execute)/)],
    match: ['rake spec', 'rake -T', 'rake db:seed RAILS_ENV=test'],
    notMatch: ['rake -e x', 'rake -E x', 'rake -f /outside/Rakefile', 'rake release'],
  }),
  alike('just', {
    programs: 'just',
    cautions: [code(/^(?:-[ce]|--command|--shell|--shell-arg|--edit|--choose)$/)],
    match: ['just test --verbose', 'just --list', 'just --dry-run deploy'],
    notMatch: ["just -c 'curl x'", 'just --edit', 'just --shell ./x test', 'just -f /outside/justfile x'],
  }),
  {
    ...alike('task', {
      programs: 'task go-task',
      cautions: [endless(/^-w$/)],
      match: ['task build', 'task test -- -v', 'task -l'],
      notMatch: ['task -t https://x/y.yml', 'task -d /outside x', 'task -w'],
    }),
    textOptions: [],
  },
  alike('tox', {
    programs: 'tox',
    cautions: [code(/(?:^|\.)(?:commands\w*|deps|allowlist_externals|set_?env|install_command|requires)\s*\+?=/)],
    match: ['tox -e py311', 'tox -x testenv.passenv=CI', 'tox run -e lint'],
    notMatch: ["tox -x testenv.commands='curl x'", 'tox exec -- curl x', 'tox --workdir /outside'],
  }),
  alike('sbt', {
    programs: 'sbt',
    cautions: [
      endless(/^~/),
      code(/^(?:-jvm-debug|-J.*agent|eval\b)/),
      network(/(?:^|[/;\s+])(?:publish\w*|sonatype\w*|ci-release|release\b)/),
    ],
    match: ['sbt clean test', 'sbt "testOnly *Foo"', 'sbt scalafmtCheckAll'],
    notMatch: ["sbt '~test'", 'sbt -jvm-debug 5005 test', 'sbt +publishSigned', 'sbt core/publish', 'sbt console'],
  }),
  alike('lein', {
    programs: 'lein',
    cautions: [endless(/^(?:ring|repl|figwheel|auto|headless|test-refresh)$/), network(/^(?:deps|deploy|new|upgrade|ancient)$/)],
    match: ['lein test :only my.ns', 'lein uberjar', 'lein check'],
    notMatch: ['lein repl', 'lein ring server', 'lein deploy clojars'],
  }),
  alike('clojure', {
    programs: 'clj clojure',
    verbs: [{ verbs: [undefined], concern: 'never_ends', message: 'waits for a person' }],
    cautions: [code(/^(?:-e|--eval|-i|--init|-r|--repl|-Sdeps|-Scp)/), network(/^(?:-P$|-Sforce$|-X:deps)/)],
    match: ['clojure -M:test', 'clj -T:build jar', 'clojure -X:test :dirs \'["test"]\''],
    notMatch: ['clj', "clj -e '(println 1)'", "clojure -M -e '1'", "clj -Sdeps '{}' -M -m x"],
  }),
  alike('stack', {
    programs: 'stack cabal',
    verbs: [
      {
        verbs: words('runghc runhaskell ghci repl eval script hoogle'),
        concern: 'runs_other_code',
        message: 'runs code of the command line',
      },
      { verbs: words('new init unpack setup path-remote'), concern: 'network_blocked', message: 'needs the network' },
    ],
    match: ['stack test --fast', 'cabal build all', 'stack build --dry-run'],
    notMatch: ['stack ghci', "stack runghc -- -e 'x'", 'cabal update', 'stack install', 'stack setup'],
  }),
  alike('ctest', {
    programs: 'ctest',
    cautions: [network(/^(?:-[DTM])?(?:Experimental|Nightly|Continuous|\w*Submit)$/), code(/^(?:-S|--script|-SP|--script-new-process)$/)],
    match: ['ctest --test-dir build', 'ctest -R parser -V', 'ctest -T Test -T Coverage', 'ctest --preset debug'],
    notMatch: ['ctest -T Submit', 'ctest -D Experimental', 'ctest -S x.cmake', 'ctest --build-and-test . b --test-command id'],
  }),
  alike('contracts', {
    programs: 'hardhat truffle forge',
    verbs: [{ verbs: words('node console develop'), concern: 'never_ends', message: 'a server, or waits for a person' }],
    cautions: [
      { ...network(/^--(?:network|rpc-url|fork-url|broadcast|verify)(?:=|$)/), unless: /^(?:hardhat|localhost|development|test)$/ },
    ],
    match: ['npx hardhat compile', 'npx hardhat test', 'forge test -vvv', 'npx hardhat test --network hardhat'],
    notMatch: ['npx hardhat node', 'npx hardhat run x.js --network mainnet', 'forge script x --broadcast'],
  }),
  alike('schema', {
    programs: 'prisma drizzle-kit',
    cautions: [network(/^(?:push|deploy|execute)$/)],
    match: ['npx prisma generate', 'npx prisma migrate dev --name x', 'npx drizzle-kit generate', 'npx prisma validate'],
    notMatch: ['npx prisma db push', 'npx prisma migrate deploy', 'npx drizzle-kit push', 'npx prisma studio'],
  }),
  alike('mkdocs', {
    programs: 'mkdocs',
    cautions: [network(/^gh-deploy$/)],
    match: ['mkdocs build --strict'],
    notMatch: ['mkdocs serve', 'mkdocs gh-deploy --force', 'mkdocs build -d /outside'],
  }),
  alike('karma', {
    programs: 'karma',
    verbs: [
      { verbs: ['start', undefined], concern: 'never_ends', message: 'a server', unless: /^--single-?[rR]un(?:=true)?$/ },
      { verbs: ['start'] },
    ],
    match: ['karma start --single-run', 'npx karma start karma.conf.js --single-run'],
    notMatch: ['karma start', 'npx karma start karma.conf.js'],
  }),
  alike('shadow-cljs', {
    programs: 'shadow-cljs',
    verbs: [
      { verbs: words('compile release test info check help') },
      {
        verbs: words('watch server start stop restart cljs-repl clj-repl browser-repl node-repl clj-eval clj-run npm-deps'),
        concern: 'never_ends',
        message: 'a server, or waits for a person',
      },
    ],
    match: ['shadow-cljs compile app', 'npx shadow-cljs release app'],
    notMatch: ['shadow-cljs watch app', 'npx shadow-cljs server'],
  }),
  alike('playwright', {
    programs: 'playwright',
    cautions: [code(/^--debug$/)],
    match: ['npx playwright test', 'npx playwright test --update-snapshots --grep @smoke'],
    notMatch: ['npx playwright test --debug', 'npx playwright test --ui', 'npx playwright codegen', 'npx playwright install'],
  }),
];
