/** Compilers and build systems: what they run is the project's own code, which the sandbox holds. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { watches } from './endless.ts';

const compilers = words(
  'gcc g++ cc c++ clang clang++ ld as gfortran rustc javac kotlinc scalac ghc ocamlc nasm swiftc zig tsc esbuild swc babel sass protoc flex bison yacc lex pkg-config strip ranlib objcopy emcc wasm-pack latexmk pdflatex xelatex lualatex bibtex typst javadoc valac fpc dmd ldc2 nvcc tcc gnatmake csc mcs vbc lessc stylus pug coffee elm-make purs thrift flatc capnp capnpc gperf re2c m4 gdc f2py cythonize rustdoc llc opt lld',
);

export const builderRules: readonly ToolRule[] = [
  {
    id: 'workspace.compile',
    programs: compilers,
    paths: 'write',
    cautions: [
      {
        word: /^(?:(?:-C ?)?(?:linker|link-args?|ar)=|-wrapper|-fplugin|-specs|--specs|-B|@|-Xclang|-load|-plugin|-dynamic-linker|--plugin|-fuse-ld=\/|-C ?linker|-Clinker|-shell-escape|--shell-escape|-enable-write18|--servedir|-J-|-processorpath|-F$|-pgm)/,
        concern: 'runs_other_code',
        message: 'runs another program',
      },
      watches,
    ],
    justification: 'compiles files of the workspace',
    match: ['gcc -O2 -o app main.c', 'tsc --noEmit', 'npx tsc --noEmit', 'rustc main.rs', 'javac X.java'],
    notMatch: [
      'gcc -wrapper sh,-c,id x.c',
      'gcc -o /outside/a main.c',
      'gcc -fplugin=./x.so a.c',
      'tsc --watch',
      'esbuild --servedir=. x.ts',
      'pdflatex -shell-escape x.tex',
    ],
  },
  {
    id: 'workspace.make',
    programs: ['make', 'gmake', 'bmake', 'cmake', 'mvn', 'mvnw', 'gradle', 'gradlew', 'ant'],
    paths: 'write',
    cautions: [
      {
        word: /^(?:(?:SHELL|MAKEFLAGS|MAKE|AR|\.SHELLFLAGS)=|(?:CC|CXX|LD)=(?!(?:ccache )?(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld)(?:-\d+)?$))/,
        concern: 'environment',
        message: 'changes the programs that are run',
      },
      { word: /^(?:--ev|-E$|-f-$|-P$|-f=?-$)/, concern: 'runs_other_code', message: 'instructions that are no file of the workspace' },
      {
        word: /^(?:deploy|publish|release:.*|wrapper|--scan|dependency:get|exec:exec|--init-script|-I$)$/,
        concern: 'network_blocked',
        message: 'needs the network',
      },
      { word: /^-$/, concern: 'runs_other_code', message: 'instructions from standard input' },
      { word: /^(?:--server|--open)$/, concern: 'never_ends', message: 'a server' },
    ],
    justification: 'builds by the instructions of the project, which the sandbox holds',
    match: ['make', 'make format', 'make -j4 test', 'make -C sub all', 'cmake --build build', 'cmake -S . -B build', 'mvn test'],
    notMatch: ['make SHELL=./x', 'make -f -', 'make -C /outside', 'mvn deploy', "make --eval 'x:;id'"],
  },
  {
    id: 'workspace.bazel',
    programs: words('bazel bazelisk buck2 pants please'),
    paths: 'text',
    cautions: [
      {
        word: /^--(?:run_under|shell_executable|host_jvm_args|host_javabase|server_javabase|workspace_status_command|strategy_regexp|experimental_remote|remote_|bes_|override_|package_path|extra_toolchains|credential_helper)/,
        concern: 'runs_other_code',
        message: 'runs another program or reaches another place',
      },
      { word: /=(?:\/(?!\/)|~)|(?:^|[=/])\.\.(?:\/|$)|^\/(?!\/)|^~/, concern: 'PATH_OUTSIDE_WORKSPACE', message: 'a place outside' },
      { word: /^(?:fetch|sync|mod|vendor|shutdown)$/, concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'builds by labels of the project, which the sandbox holds',
    match: ['bazel build //...', 'bazel test //foo:bar --test_output=errors', 'bazel query "deps(//x:y)"'],
    notMatch: ['bazel build --run_under=/x //y', 'bazel --output_base=/outside build //x', 'bazel sync'],
  },
];
