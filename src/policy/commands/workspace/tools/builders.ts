/** Compilers and build systems: what they run is the project's own code, which the sandbox holds. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { inspects, watches } from './endless.ts';

const compilers = words(
  'gcc g++ cc c++ clang clang++ ld as gfortran rustc javac kotlinc scalac ghc ocamlc nasm swiftc zig esbuild protoc flex bison yacc lex pkg-config strip ranlib objcopy emcc wasm-pack latexmk pdflatex xelatex lualatex bibtex typst javadoc valac fpc dmd ldc2 nvcc tcc gnatmake csc mcs vbc elm-make purs thrift flatc capnp capnpc gperf re2c gdc f2py cythonize rustdoc llc opt lld cpp indent erlc elixirc groovyc swig dtc srec_cat srec_info bin2hex hex2bin coqc agda idris2 haxe rescript bsc qmake moc uic rcc cpack mcpp iverilog verilator ghdl yosys ocamlopt ocamlfind mlton smlsharp chez koka ldmd2 dmcs mono-csc armasm avr-gcc arm-none-eabi-gcc aarch64-linux-gnu-gcc x86_64-w64-mingw32-gcc musl-gcc icc icx icpx nvc gfortran-13 gcc-12 gcc-13 gcc-14 g++-12 g++-13 g++-14 clang-15 clang-16 clang-17 clang-18 clang++-18',
);

/** `TEST_CMD='curl x'`: a variable that is given a command line of a program that is refused by itself. */
function carriesCommand(): RegExp {
  const names = [
    'sudo',
    'su',
    'curl',
    'wget',
    'nc',
    'ncat',
    'socat',
    'ssh',
    'scp',
    'ftp',
    'telnet',
    'dig',
    'nslookup',
    'nohup',
    'setsid',
    'chroot',
    'nsenter',
    'docker',
    'kubectl',
    'systemctl',
    'crontab',
  ];
  return new RegExp(
    `^(?!\\w*(?:ARGS|FLAGS|OPTS|OPTIONS|MSG|MESSAGE|NAME|FILTER|GREP|TITLE|DESCRIPTION)\\b)\\w+[:+?]?=(?:.*[;&|]\\s*|\\s*)(?:\\S*/)?(?:${names.join('|')})(?:\\s|;|$)`,
    's',
  );
}

export const builderRules: readonly ToolRule[] = [
  {
    id: 'workspace.compile',
    programs: compilers,
    paths: 'write',
    cautions: [
      {
        word: /^(?:(?:-C ?)?(?:linker|link-args?|ar)=|-wrapper|-fplugin|-specs|--specs|-B|@|-Xclang|-load|-plugin|-dynamic-linker|--plugin|-Wl,(?:.*,)?(?:-plugin|--plugin|-dynamic-linker|--dynamic-linker|-I,)|-Xlinker$|-fuse-ld=(?!(?:bfd|gold|lld|mold)$)|-C ?linker|-Clinker|--?shell-escape|--?lua(?:only)?(?:=|$)|--?cnf-line|--test-cmd|-(?:pdf)?(?:pdf|lua|xe)?latex=|-usepretex|--?enable-write18|\\|--servedir|-J-|-processorpath|-F$|-pgm|-e$|-expr$|-eval$)/,
        concern: 'runs_other_code',
        message: 'runs another program',
      },
      watches,
      { word: /^-pvc$/, concern: 'never_ends', message: 'watches for ever' },
    ],
    justification: 'compiles files of the workspace',
    match: ['gcc -O2 -o app main.c', 'rustc main.rs', 'javac X.java'],
    notMatch: [
      'gcc -wrapper sh,-c,id x.c',
      'gcc -o /outside/a main.c',
      'gcc -fplugin=./x.so a.c',
      'clang -fuse-ld=./x a.c',
      'gcc -o a -Wl,-plugin,./x a.c',
      "pdflatex '\\immediate\\write18{id}'",
      "lualatex '\\directlua{x}'",
      'pdflatex --enable-write18 a',
      'lualatex --lua=x a',
      'esbuild --servedir=. x.ts',
      'pdflatex -shell-escape x.tex',
      'ghc -e \'System.Process.callCommand "id"\'',
    ],
  },
  {
    id: 'workspace.transpile',
    programs: words('tsc swc babel sass lessc stylus pug coffee vue-tsc tsgo node-sass'),
    paths: 'write',
    cautions: [watches, { word: /^-w$/, concern: 'never_ends', message: 'watches for ever' }, inspects],
    justification: 'translates files of the workspace',
    match: ['tsc --noEmit', 'npx tsc --noEmit', 'sass a.scss a.css'],
    notMatch: ['tsc --watch', 'tsc -w', 'sass --watch a:b', 'tsc --outDir /outside'],
  },
  {
    id: 'workspace.macros',
    programs: ['m4', 'gm4'],
    paths: 'write',
    justification: 'expands macros of files of the workspace',
    match: ['m4 a.m4', 'm4 -D X=1 a.m4'],
    notMatch: ["m4 <<< 'syscmd(id)'", "echo 'syscmd(id)' | m4", 'm4 /outside/x'],
  },
  {
    id: 'workspace.make',
    programs: [...words('make gmake bmake ant scons waf xmake premake5 nmake remake colcon b2 bjam gn tup redo pake')],
    paths: 'write',
    cautions: [
      {
        word: /^(?:(?:SHELL|MAKEFLAGS|MAKE|AR|\.SHELLFLAGS)=|(?:CC|CXX|LD)=(?!(?:ccache )?(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld)(?:-\d+)?$))/,
        concern: 'environment',
        message: 'changes the programs that are run',
      },
      { word: /^(?:--ev|-E$|-f-$|-P$|-f=?-$)/, concern: 'runs_other_code', message: 'instructions that are no file of the workspace' },
      {
        word: /^(?:deploy|publish)$/,
        concern: 'network_blocked',
        message: 'needs the network',
        unless: /^(?:-[a-zA-Z]*n[a-zA-Z]*|--dry-run|--just-print|--recon)$/,
      },
      { word: /^-$/, concern: 'runs_other_code', message: 'instructions from standard input' },
      { word: carriesCommand(), concern: 'runs_other_code', message: 'runs another program' },
      // Expanded by make: `X=$(shell id)`, `X!=id`.
      { word: /\$[({](?:shell|eval|guile|file)\b|^[\w.-]+\s*!=/, concern: 'runs_other_code', message: 'runs another program' },
      { word: /^(?:--server|--open)$/, concern: 'never_ends', message: 'a server' },
    ],
    justification: 'builds by the instructions of the project, which the sandbox holds',
    match: ['make', 'make format', 'make -j4 test', 'make -C sub all', 'make -n deploy'],
    notMatch: [
      'make SHELL=./x',
      'make -f -',
      'make -C /outside',
      'make deploy',
      "make --eval 'x:;id'",
      "make X='$(shell id)'",
      "make 'X!=id'",
    ],
  },
  {
    id: 'workspace.ninja',
    programs: ['ninja', 'samu', 'n2'],
    paths: 'write',
    cautions: [
      { word: /^browse$/, concern: 'never_ends', message: 'a server' },
      { word: /^(?:deploy|publish)$/, concern: 'network_blocked', message: 'needs the network', unless: /^-n$/ },
    ],
    justification: 'builds by the instructions of the project, which the sandbox holds',
    match: ['ninja -C build test', 'ninja -t targets all', 'ninja -n'],
    notMatch: ['ninja -t browse', 'ninja -C /outside', 'ninja -f ../evil.ninja'],
  },
  {
    id: 'workspace.msbuild',
    programs: ['msbuild', 'xbuild'],
    paths: 'write',
    slashOptions: true,
    justification: 'builds by the instructions of the project, which the sandbox holds',
    match: ['msbuild App.sln /t:Rebuild /p:Configuration=Release'],
    notMatch: ['msbuild /outside/x.sln', 'msbuild ../x.sln'],
  },
  {
    id: 'workspace.cmake',
    programs: ['cmake'],
    paths: 'write',
    cautions: [
      {
        // The programs of `cmake -E` that run another one, or fetch.
        word: /^(?:env|time|chdir|run_editor|server|capabilities|__run_co_compile|(?:-D)?CMAKE_\w*(?:LAUNCHER|_COMMAND)(?::\w+)?=.*|(?:-D)?CMAKE_(?:C|CXX)_COMPILER(?::\w+)?=(?!(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+)(?:-\d+)?$).*|(?:-D)?CMAKE_PROJECT_\w*INCLUDE\w*(?::\w+)?=.*)$/,
        concern: 'runs_other_code',
        message: 'runs another program',
      },
      { word: /^(?:--open|--trace-redirect.*|--debugger.*)$/, concern: 'runs_other_code', message: 'opens a window or a debugger' },
      { word: /^(?:rm|remove|remove_directory)$/, concern: 'destructive', message: 'removes what it is told' },
    ],
    justification: 'configures and builds by the instructions of the project, which the sandbox holds',
    match: ['cmake --build build', 'cmake -S . -B build', 'cmake -P gen.cmake', 'cmake -E make_directory build'],
    notMatch: [
      'cmake -E env X=1 sh',
      'cmake -B /outside',
      'cmake -P /outside/x',
      'cmake -E rm -rf .',
      'cmake --open build',
      'cmake -DCMAKE_C_COMPILER_LAUNCHER=./x .',
      'cmake -E chdir / ls',
    ],
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
