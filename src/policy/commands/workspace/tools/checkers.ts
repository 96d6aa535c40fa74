/** Test runners, linters, formatters: what they run is the project's own code, which the sandbox holds. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { inspects, servers, watches } from './endless.ts';

const checkers = words(
  'eslint prettier biome oxlint stylelint standard xo tslint jshint jest vitest tap jasmine karma c8 nyc ts-node knip tsx depcheck madge depcruise publint size-limit commitlint lint-staged typedoc jsdoc markdownlint markdownlint-cli2 cspell svelte-check tsd attw terser uglifyjs openapi-typescript changeset playwright cypress cucumber-js dprint rome licensee sort-package-json syncpack ncc vsce conventional-changelog prisma npm-run-all npm-run-all2 run-s run-p nest drizzle-kit knex sequelize sequelize-cli typeorm mikro-orm eslint_d type-coverage api-extractor gulp grunt browserify nightwatch wdio testcafe bundlesize source-map-explorer license-checker license-report patch-package ts-prune tsc-alias copyfiles cpy mkdirp semver plop hygen json2ts quicktype ajv redocly spectral swagger-cli uvu tape qunit lab wtr web-test-runner remark textlint alex htmlhint html-validate eslint-config-prettier linkinator lit-analyzer dpdm skott jscpd es-check browserslist update-browserslist-db react-router solid-start vinxi gts ts-standard jsonlint prettierd pkgroll zshy  vitepress jscodeshift ts-json-schema-generator html-minifier html-minifier-terser csso svg-sprite oxfmt lockfile-lint envinfo allure bundlewatch ember ng-packagr stencil i18next i18next-parser formatjs lingui wireit ts-unused-exports unimported sort-imports eslint-nibble purgecss critical stylelint-config imagemin javascript-obfuscator swagger-codegen asyncapi zenstack kysely kysely-codegen wp-scripts ncu-local blitz redwood payload directus strapi sanity contentlayer velite typechain hardhat forge solc slither truffle',
);

const pythonTools = words(
  'black ruff isort flake8 pylint mypy pyright bandit coverage yapf autopep8 pydocstyle pycodestyle vulture sphinx-build nose2 behave cython autoflake pyupgrade djlint basedpyright ty alembic virtualenv jupyter pyinstaller maturin twine pybabel pdoc interrogate radon xenon deptry lint-imports 2to3 papermill snakemake sphinx-apidoc sphinx-quickstart ssort refurb flynt docformatter pyroma check-manifest towncrier bumpversion bump2version bump-my-version commitizen cz mutmut hypothesis kedro dbt great_expectations pytype pyre sourcery pip-compile unify reorder-python-imports add-trailing-comma setup-cfg-fmt validate-pyproject griffe stubgen stubtest dmypy nbqa nbstripout jupytext',
);

const otherTools = words(
  'clang-format clang-tidy cppcheck shellcheck shfmt hadolint yamllint gofmt goimports golangci-lint staticcheck rustfmt rubocop rspec phpunit phpstan phpcs phpcbf psalm pest checkstyle ktlint detekt swiftlint swiftformat terraform-docs tflint actionlint buf ctest gcov lcov doxygen stack cabal lein sbt stylua luacheck busted hugo mkdocs jekyll just task tox nox pre-commit rake invoke codespell vale typos editorconfig-checker standardrb reek brakeman erb elm elm-test nim crystal gleam rebar3 cmake-format cmake-lint meson ninja samu autoconf automake autoreconf libtool perltidy perlcritic prove xcodebuild php-cs-fixer pint phpmd infection deptrac rector codecept behat phing phpbench parallel-lint yard sorbet srb tapioca cucumber minitest ginkgo gotestsum mockgen mockery sqlc wire stringer gomock gofumpt gci revive gosec errcheck ineffassign go-junit-report cargo-nextest sccache ccache astyle uncrustify iwyu include-what-you-use cpplint infer scan-build gcovr bear compiledb doctest catch2 hlint stylish-haskell ormolu fourmolu hpack weeder tasty elm-format elm-review scalafmt scalafix mill clj clojure clj-kondo cljfmt ameba lintr ansible-lint helm-docs kubeconform kubeval conftest opa checkov kube-linter dockle sqlfluff pgformatter pg_format squawk bats shellspec fish_indent vimdoc zprint ast-grep-cli scspell gitlint gitleaks detect-secrets dockerfilelint dotenv-linter taplo tombi jsonschema check-jsonschema jsonnet jsonnetfmt cue dhall dhall-format kcl nickel pkl rego regal regula terrascan tfsec cfn-lint cookstyle foodcritic puppet-lint salt-lint ec markdownlint-rs rumdl remark-lint cargo-deny cargo-audit luaformatter lua-format purs-tidy dfmt d-scanner nixfmt alejandra nixpkgs-fmt statix deadnix nimpretty v-analyzer verible-verilog-lint svlint vsg beautysh shellharden checkbashisms bashate credo openapi-generator-cli asciidoctor mdbook zola pelican bookdown quarto sphinx markdown-link-check mdformat pymarkdown hunspell aspell proselint write-good',
);

const watchful = words(
  'rollup webpack webpack-cli mocha tsup postcss tailwindcss ava microbundle stryker tailwind tsdx bob unbuild graphql-codegen',
);

const checks: ToolRule = {
  id: 'workspace.check',
  takesAnyVerb: true,
  programs: [...checkers, ...pythonTools, ...otherTools],
  paths: 'write',
  textOptions: ['-k', '-m', '-t', '--grep', '--testNamePattern', '-g', '--project', '--filter', '--reporter', '--ext'],
  cautions: [
    watches,
    inspects,
    {
      word: /^(?:--pdb|--pastebin|--debugger|--remote|--cache-location=\/)/,
      concern: 'runs_other_code',
      message: 'opens a debugger or sends something',
    },
    { word: /^https?:\/\//, concern: 'network_blocked', message: 'an address' },
  ],
  verbs: [
    servers,
    {
      verbs: [
        ...words(
          'install add publish deploy upload login update upgrade codegen open debug show-trace show-report pub deps.get deps.update',
        ),
        ...words('local.hex hex.publish archive.install get-deps resolve autoupdate try-repo register'),
      ],
      concern: 'network_blocked',
      message: 'needs the network or a window',
    },
    { verbs: ['runner', 'exec', 'shell', 'repl', 'eval'], concern: 'runs_other_code', message: 'runs code of the command line' },
  ],
  justification: 'checks, tests and builds the project; its code runs in the sandbox',
  match: ['npx eslint src --ext .ts', 'npx vitest run', 'ruff check .', 'prettier --write src', 'jest -t "curl x"', 'npx playwright test'],
  notMatch: [
    'npx vitest --watch',
    'jest --watchAll',
    'npx webpack serve',
    'pre-commit install',
    'npx playwright install',
    'eslint /outside',
    'vitest --inspect-brk',
  ],
};

export const checkerRules: readonly ToolRule[] = [
  checks,
  {
    ...checks,
    id: 'workspace.watchful',
    programs: watchful,
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
