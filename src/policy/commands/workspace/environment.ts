/** Assignments before a command or by `export`: which names change how programs run. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import { judgePath, type PathScope } from './judge-path.ts';
import type { ShellWord } from './shell-word.ts';

/** SECURITY: each names a file to load, a program to run, options to add, or a place to take things from. */
const dangerous = new RegExp(
  `^(?:${[
    'LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*|GLIBC_.*|RES_OPTIONS|HOSTALIASES',
    'PATH|HOME|IFS|ENV|SHELL|SHELLOPTS|BASHOPTS|BASH_.*|PS[0-9]|PROMPT_COMMAND|CDPATH|GLOBIGNORE|FIGNORE|EXECIGNORE|HISTFILE|POSIXLY_CORRECT|TMPDIR|XDG_.*|ZDOTDIR|OLDPWD|PWD|INPUTRC|TERMINFO.*|TERMCAP',
    'GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$).*|SSH_.*|SUDO_.*|GPG_.*|GNUPGHOME',
    'PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$|HASHSEED$|IOENCODING$|UTF8$).*|PYTEST_(?:ADDOPTS|PLUGINS)|PIP_.*|UV_.*|POETRY_.*|VIRTUAL_ENV|CONDA_.*',
    'PERL.*|RUBY(?:OPT|LIB|GEMS_.*)|GEM_.*|BUNDLE_.*|LUA_.*|PHP.*|NODE_(?!ENV$|NO_WARNINGS$).*|npm_(?!package_|lifecycle_).*|NPM_.*|YARN_.*|PNPM_.*|BUN_.*|DENO_.*|COREPACK_.*|TS_NODE.*|JITI_.*|ELECTRON_.*',
    'JAVA_.*|_JAVA_.*|JDK_.*|CLASSPATH|MAVEN_.*|GRADLE_.*|SBT_.*|KOTLIN_.*|GO(?:FLAGS|PROXY|PATH|ROOT|TOOLCHAIN|BIN|ENV|NOSUMDB|NOSUMCHECK|INSECURE|PRIVATE|SUMDB|CACHE|WORK|AUTH|VCS)',
    'CARGO_(?!TERM_|INCREMENTAL$).*|RUSTC.*|RUSTUP_.*|RUSTDOC.*|CC|CXX|CPP|LD|AR|AS|FC|HOSTCC|COMPILER_PATH|C_INCLUDE_PATH|CPATH|LIBRARY_PATH|GCC_.*|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKEFILES|CMAKE_(?!BUILD_TYPE$).*|DOTNET_.*|MSBUILD.*|NUGET_.*|COMPlus_.*|CORECLR_.*',
    'PAGER|.*_PAGER|MANPAGER|LESS.*|EDITOR|VISUAL|.*_EDITOR|BROWSER|.*PROXY|.*proxy|RIPGREP_.*|GREP_.*|TAR_OPTIONS|GZIP|BZIP.*|XZ_.*|ZIPOPT|UNZIP|RSYNC_.*|WGETRC|CURL_.*|OPENSSL_.*|SSL_.*|DOCKER_.*|KUBECONFIG|AWS_.*|AZURE_.*|GOOGLE_.*|DISPLAY|DBUS_.*|WAYLAND_.*|XDEBUG_.*|VSCODE_.*|TERM_PROGRAM.*',
  ].join('|')})$`,
);
/** Words in an unknown name that say that its value is run, loaded or added. */
const suspicious =
  /(?:^|_)(?:PATH|OPTIONS?|OPTS|FLAGS|CMD|COMMAND|EXEC|EXECUTABLE|LOADER|PRELOAD|PLUGINS?|SHELL|CONFIG|RC|LIB|INIT|STARTUP|HOOKS?|WRAPPER|LAUNCHER|RUNNER|BINARY|BIN|INSPECT|AGENT|ASKPASS|SCRIPT)$/i;
/** Names in the lists above whose value is harmless when it is one of these. A path must besides be in the workspace. */
const harmlessValues: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:PAGER|\w+_PAGER|MANPAGER)$/, /^(?:cat)?$/],
  [/^(?:EDITOR|VISUAL|\w+_EDITOR)$/, /^(?:true|:|cat)$/],
  [/^GIT_(?:OPTIONAL_LOCKS|PAGER_IN_USE|TRACE)$/, /^[01]$/],
  [/^(?:CC|CXX|LD|HOSTCC)$/, /^(?:ccache )?(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld|lld)(?:-\d+)?$/],
  [/^(?:MAKEFLAGS|MFLAGS|GNUMAKEFLAGS)$/, /^(?:-j\d*|-s|-k| )*$/],
  [/^GOFLAGS$/, /^(?:-(?:mod=(?:mod|vendor|readonly)|count=\d+|v|race|short|tags=[\w,]+)(?: |$))*$/],
  [/^(?:MAVEN_OPTS|GRADLE_OPTS|SBT_OPTS|JAVA_OPTS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)$/, javaOptions()],
  [/^NODE_OPTIONS$/, nodeOptions()],
  [/^TS_NODE_(?:PROJECT|FILES|TRANSPILE_ONLY|LOG_ERROR|PREFER_TS_EXTS)$/, /^[\w./-]*$/],
  [/^(?:PYTHONPATH|NODE_PATH)$/, /^\/?[\w.-]+(?:\/[\w.-]+)*\/?(?::\/?[\w.-]+(?:\/[\w.-]+)*\/?)*:?$/],
  [
    /^PYTHON(?:WARNINGS|FAULTHANDLER|ASYNCIODEBUG|DEVMODE|OPTIMIZE|VERBOSE|TRACEMALLOC|NOUSERSITE|SAFEPATH)$/,
    /^(?:\d*|ignore|default|error|always|once|module)$/,
  ],
  [
    /^(?:DOTNET_(?:CLI_\w+|NOLOGO|SKIP_\w+|ENVIRONMENT)|CMAKE_(?:BUILD_PARALLEL_LEVEL|GENERATOR|EXPORT_COMPILE_COMMANDS|COLOR_\w+))$/,
    /^[\w -]*$/,
  ],
  // Sanitizers: switches and numbers, no files and no programs.
  [/^(?:[ALMT]|UB|HW)+SAN_OPTIONS$/, /^(?:[a-z_]+=[\w.+-]*(?:[:, ]|$))*$/],
  [/^XDEBUG_MODE$/, /^(?:off|coverage|develop)$/],
  // Of names that only sound like it: a switch names nothing.
  [suspicious, /^(?:true|false|yes|no|on|off|\d*)$/i],
];

/** Memory and collector settings of a Java machine. */
function javaOptions(): RegExp {
  return /^(?:-X(?:mx|ms|ss|mn)\d+[kKmMgG]?|-XX:[+-]?(?!On|Flags|VMOptions|Heap\w*Path|ErrorFile|Flight)\w+(?:=\w+)?|-D(?:file\.encoding=[\w-]+|user\.\w+=[\w/]+|org\.gradle\.\w+=\w+)|-ea| )*$/;
}

/** Options of node that load and open nothing. */
function nodeOptions(): RegExp {
  return /^(?:--(?:max-old-space-size=\d+|max-semi-space-size=\d+|experimental-(?:vm-modules|strip-types|require-module|specifier-resolution=node)|no-(?:warnings|deprecation|experimental-\w+)|enable-source-maps|trace-(?:warnings|deprecation|uncaught)|openssl-legacy-provider|unhandled-rejections=\w+|stack-trace-limit=\d+|throw-deprecation|dns-result-order=\w+)(?: +|$))*$/;
}

/** Flags of compilers that load nothing and run nothing. */
const compilerFlags = /^(?:CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|RUSTFLAGS)$/;
const plainFlag =
  /^(?:-(?:[OWgDm]|f(?!plugin|use-ld)|std=|s$)[\w=.,+-]*|-[IL](?!\/(?!usr\/)|~)(?!.*\.\.)[\w./-]+|-l[\w.+-]+|-D ?\w+|-pthread|-C|(?:target-cpu|target-feature|opt-level|debuginfo|codegen-units|lto|panic|strip|instrument-coverage|overflow-checks)(?:=[\w+,-]+)?|--cfg|[a-z_]+(?:="\w+")?|-A|warnings)$/;

export interface Assignment {
  readonly name: string;
  readonly value: ShellWord;
  readonly offset: number;
}

/** What speaks against an assignment; `program` is the command it stands before, if any. */
export function judgeAssignment({ name, value, offset }: Assignment, program: string | undefined, scope: PathScope): readonly Decision[] {
  // `while IFS= read -r line` is how lines are read.
  if (name === 'IFS' && program === 'read') return [];
  const texts = value.values ?? ['$'];
  if (compilerFlags.test(name)) {
    const arePlain = texts.every((text) => text.split(' ').every((flag) => flag === '' || plainFlag.test(flag)));
    return arePlain ? [] : [askFor('environment', offset, `\`${name}\` may change the programs that are run`)];
  }
  // Programs heed names in capitals; small ones are the line's own.
  return dangerous.test(name) || (suspicious.test(name) && name !== name.toLowerCase()) ? judgeListed(name, texts, { offset, scope }) : judgeOther(name, value, scope);
}

function judgeListed(
  name: string,
  texts: readonly string[],
  { offset, scope }: { readonly offset: number; readonly scope: PathScope },
): readonly Decision[] {
  const isHarmless = harmlessValues.some(([names, values]) => names.test(name) && texts.every((text) => values.test(text)));
  if (!isHarmless) return [askFor('environment', offset, `\`${name}\` changes how programs run`)];
  if (!name.endsWith('PATH')) return [];
  return texts.flatMap((text) => text.split(':').flatMap((path) => judgePath({ text: path, glob: false, offset }, 'read', scope)));
}

function judgeOther(name: string, { values = [], offset }: ShellWord, scope: PathScope): readonly Decision[] {
  return values.flatMap((text) => {
    // Text that would become a command when some later word is evaluated.
    if (/\$\(|`|\(\) *\{/.test(text)) return [askFor('environment', offset, `\`${name}\` is given text that holds a command`)];
    return /^(?:\/|\.\.(?:\/|$)|\.\/)/.test(text) ? judgePath({ text, glob: false, offset }, 'read', scope) : [];
  });
}

/** Names that the shell or nearly every program heeds, for variables that are filled with what the text does not tell. */
const heeded =
  /^(?:PATH|HOME|SHELL|IFS|PWD|OLDPWD|CDPATH|GLOBIGNORE|BASH_.*|LD_.*|DYLD_.*|PS\d|PROMPT_COMMAND|NODE_(?:OPTIONS|PATH)|PYTHON(?:PATH|STARTUP|HOME)|PERL5.*|RUBY(?:OPT|LIB)|GIT_.*|TMPDIR|XDG_.*)$/;

/** What speaks against a loop, `read` or `${NAME:=…}` that fills the variable. */
export function judgeFilled(name: string, offset: number): readonly Decision[] {
  return heeded.test(name) ? [askFor('environment', offset, `\`${name}\` changes how programs run`)] : [];
}

/** What speaks against `unset NAME`. */
export function judgeRemoval(name: string, offset: number): readonly Decision[] {
  const matters = /^(?:PATH|HOME|IFS|PWD|SHELLOPTS|BASH_.*|LD_.*)$/.test(name);
  return matters ? [askFor('environment', offset, `without \`${name}\` programs run otherwise`)] : [];
}
