/** Test runners, linters, formatters: what they run is the project's own code, which the sandbox holds. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { inspects, servers, watches } from './endless.ts';

const checkers = words(
  'eslint prettier biome oxlint stylelint standard xo tslint jshint jest vitest mocha ava tap jasmine karma c8 nyc tsx ts-node knip depcheck madge depcruise publint size-limit commitlint lint-staged typedoc jsdoc markdownlint markdownlint-cli2 cspell vue-tsc svelte-check tsd attw rollup tsup unbuild microbundle webpack webpack-cli terser uglifyjs postcss tailwindcss graphql-codegen openapi-typescript changeset playwright cypress cucumber-js stryker dprint rome licensee sort-package-json syncpack ncc vsce conventional-changelog prisma npm-run-all npm-run-all2 run-s run-p nest drizzle-kit knex sequelize sequelize-cli typeorm mikro-orm eslint_d type-coverage api-extractor gulp grunt browserify nightwatch wdio testcafe bundlesize source-map-explorer license-checker license-report patch-package ts-prune tsc-alias copyfiles cpy mkdirp semver plop hygen json2ts quicktype ajv redocly spectral swagger-cli uvu tape qunit lab wtr web-test-runner tailwind remark textlint alex htmlhint html-validate eslint-config-prettier linkinator lit-analyzer dpdm skott jscpd es-check browserslist update-browserslist-db react-router solid-start vinxi tsdx bob gts ts-standard jsonlint prettierd pkgroll zshy  vitepress typechain hardhat forge solc slither truffle',
);

const pythonTools = words(
  'black ruff isort flake8 pylint mypy pyright bandit coverage yapf autopep8 pydocstyle pycodestyle vulture sphinx-build nose2 behave cython autoflake pyupgrade djlint basedpyright ty alembic virtualenv jupyter pyinstaller maturin twine pybabel pdoc interrogate radon xenon deptry lint-imports 2to3 papermill snakemake sphinx-apidoc sphinx-quickstart ssort refurb flynt docformatter pyroma check-manifest towncrier bumpversion bump2version bump-my-version commitizen cz mutmut hypothesis kedro dbt great_expectations pytype pyre sourcery pip-compile unify reorder-python-imports add-trailing-comma setup-cfg-fmt validate-pyproject griffe stubgen stubtest dmypy nbqa nbstripout jupytext',
);

const otherTools = words(
  'clang-format clang-tidy cppcheck shellcheck shfmt hadolint yamllint gofmt goimports golangci-lint staticcheck rustfmt rubocop rspec phpunit phpstan phpcs phpcbf psalm pest checkstyle ktlint detekt swiftlint swiftformat terraform-docs tflint actionlint buf ctest gcov lcov doxygen dart flutter mix elixir stack cabal lein sbt stylua luacheck busted hugo mkdocs jekyll just task tox nox pre-commit rake invoke codespell vale typos editorconfig-checker standardrb reek brakeman erb elm elm-test nim crystal gleam rebar3 cmake-format cmake-lint meson ninja samu autoconf automake autoreconf libtool perltidy perlcritic prove xcodebuild swift php-cs-fixer pint phpmd infection deptrac rector codecept behat phing phpbench parallel-lint yard sorbet srb tapioca cucumber minitest ginkgo gotestsum mockgen mockery sqlc wire stringer gomock gofumpt gci revive gosec errcheck ineffassign go-junit-report cargo-nextest sccache ccache astyle uncrustify iwyu include-what-you-use cpplint infer scan-build gcovr bear compiledb doctest catch2 perl6 raku hlint stylish-haskell ormolu fourmolu hpack weeder tasty elm-format elm-review scalafmt scalafix amm mill clj clojure clj-kondo cljfmt ameba R lintr ansible-lint helm-docs kubeconform kubeval conftest opa checkov kube-linter dockle sqlfluff pgformatter pg_format squawk bats shellspec fish_indent vimdoc zprint openapi-generator-cli asciidoctor mdbook zola pelican bookdown quarto sphinx markdown-link-check mdformat pymarkdown hunspell aspell proselint write-good',
);

export const checkerRules: readonly ToolRule[] = [
  {
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
    match: [
      'npx eslint src --ext .ts',
      'npx vitest run',
      'ruff check .',
      'prettier --write src',
      'jest -t "curl x"',
      'npx playwright test',
    ],
    notMatch: [
      'npx vitest --watch',
      'jest --watchAll',
      'npx webpack serve',
      'pre-commit install',
      'npx playwright install',
      'eslint /outside',
      'vitest --inspect-brk',
    ],
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
