/** Values with which a variable of the environment that programs heed does no harm. */

import { homeDirectory } from './decode-word.ts';

/** Words in an unknown name that say that its value is run, loaded or added. */
export const suspicious =
  /(?:^|_)(?:PATH|OPTIONS?|OPTS|FLAGS|CMD|COMMAND|EXEC|EXECUTABLE|LOADER|PRELOAD|PLUGINS?|SHELL|CONFIG|RC|LIB|INIT|STARTUP|HOOKS?|WRAPPER|LAUNCHER|RUNNER|BINARY|BIN|INSPECT|AGENT|ASKPASS|SCRIPT)$/i;

/** Names that `environment.ts` asks about, and the values with which they load and run nothing. */
const harmlessValues: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:PAGER|\w+_PAGER|MANPAGER)$/, /^(?:cat)?$/],
  [/^(?:EDITOR|VISUAL|\w+_EDITOR)$/, /^(?:true|:|cat)$/],
  // What it is anyway.
  [/^HOME$/, new RegExp(`^${homeDirectory}$`)],
  // The head of a strict script: words are split at fewer characters than they are judged by.
  [/^IFS$/, /^(?:\n\t?|\t\n?)$/],
  [/^GIT_(?:OPTIONAL_LOCKS|PAGER_IN_USE|TRACE)$/, /^[01]$/],
  [/^(?:CC|CXX|LD|HOSTCC)$/, /^(?:ccache )?(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld|lld)(?:-\d+)?$/],
  // Programs that `make` is told to use, by the names that they have.
  [
    /^(?:LEX|YACC|RM|MAKE|NM|RANLIB|STRIP|OBJCOPY|INSTALL|TAR|SED|AWK|LN|CP|MV|MKDIR|PYTHON|AR|AS|FC)$/,
    /^(?:flex|lex|bison(?: -y)?|byacc|yacc|rm(?: -r?f)?|make|gmake|(?:[\w]+-)*(?:nm|ranlib|strip|objcopy|ar|as|gfortran)|install(?: -c)?|g?tar|g?sed|[gmn]?awk|ln(?: -s)?|cp|mv|mkdir(?: -p)?|python[\d.]*|true|:)?$/,
  ],
  [/^(?:MAKEFLAGS|MFLAGS|GNUMAKEFLAGS)$/, /^(?:-j\d*|-s|-k| )*$/],
  [/^GOFLAGS$/, /^(?:-(?:mod=(?:mod|vendor|readonly)|count=\d+|p=\d+|v|race|short|trimpath|buildvcs=\w+|tags=[\w,]+)(?: |$))*$/],
  [/^(?:MAVEN_OPTS|GRADLE_OPTS|SBT_OPTS|JAVA_OPTS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)$/, javaOptions()],
  [/^NODE_OPTIONS$/, nodeOptions()],
  [/^TS_NODE_(?:PROJECT|FILES|TRANSPILE_ONLY|LOG_ERROR|PREFER_TS_EXTS)$/, /^[\w./-]*$/],
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
  [/^GO(?:PROXY|TOOLCHAIN|SUMDB)$/, /^(?:off|local)$/],
  [/^JAVA_HOME$/, /^\/usr\/lib\/jvm\/\w[\w.-]*$/],
  // That of a test; `:0` is a person's screen.
  [/^DISPLAY$/, /^:[1-9]\d+(?:\.\d)?$/],
  [/^MALLOC_(?:ARENA_MAX|CHECK_|PERTURB_)$/, /^\d*$/],
  [/^PYTEST_ADDOPTS$/, /^(?:-[qvsx]+|-n ?\w+|-p no:\w+|--(?:tb|maxfail|durations|color|strict-markers|no-header)(?:=\w+)?| )*$/],
  [/^AWS_(?:DEFAULT_)?(?:REGION|OUTPUT)$/, /^[a-z\d-]*$/],
  // What tests against a stand-in are given.
  [/^AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)$/, /^(?:test(?:ing)?|dummy|fake|foo|mock|x+|local|minio(?:admin)?)?$/],
  [/^CARGO_(?:BUILD_JOBS|PROFILE_\w+|NET_RETRY|HTTP_TIMEOUT|LOG)$/, /^[\w.-]*$/],
  // Switches, counts and levels by the words that every tool has for them.
  [
    /^(?!XDEBUG|ELECTRON|LD_|DYLD_|BASH)\w*_(?:OFFLINE|FROZEN|LOCKED|NO_\w+|DISABLE_\w+|SKIP_\w+|ENABLE_\w+|DISABLED|ENABLED|QUIET|VERBOSE|SILENT|DEBUG|LOG_?LEVEL|NO_?COLOR|FORCE_COLOR|COLOR|JOBS|THREADS|CONCURRENCY|TIMEOUT|RETRIES|PROGRESS|TELEMETRY\w*|FUND|AUDIT|UPDATE_NOTIFIER)$/i,
    /^[\w.,*-]*$/,
  ],
  [/^XDEBUG_MODE$/, /^(?:off|coverage|develop)$/],
  // Emptied, these load nothing. SECURITY: not so `PATH` and `LD_LIBRARY_PATH`, where nothing is the current directory.
  [/^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|\w+_OPTIONS|\w+_OPTS|\w*FLAGS)$/, /^$/],
];

/** In a name that only sounds like one that is heeded, a switch names nothing. SECURITY: `PATH=1` names a directory. */
const switches = /^(?:true|false|yes|no|on|off|\d*)$/i;

/** Names of directories in which is looked or that are filled; what leads outside asks. */
const directories =
  /^(?:PYTHONPATH|NODE_PATH|TMPDIR|XDG_CACHE_HOME|CARGO_TARGET_DIR|GOCACHE|GOTMPDIR|NODE_V8_COVERAGE|YARN_CACHE_FOLDER|NPM_CONFIG_CACHE|npm_config_cache|PIP_CACHE_DIR|UV_CACHE_DIR|UV_PROJECT_ENVIRONMENT|PYTHONPYCACHEPREFIX|CCACHE_DIR|SCCACHE_DIR|BUNDLE_PATH)$/;
const plainPaths = /^:?(?:\/?[\w.-]+(?:\/[\w.-]+)*\/?(?::|$))*$/;

/** `PATH="$PWD/node_modules/.bin:$PATH"`: a project's own tools in front of the others, as its scripts have them. */
const projectTools = /^(?:[\w./-]*\/)?(?:node_modules\/\.bin|\.venv\/bin|venv\/bin|vendor\/bin):$/;

/** The paths that an assignment names, undefined where its value is not known to be harmless. `isListed`: the name is heeded by programs. */
export function harmlessPaths(name: string, texts: readonly string[], isListed: boolean): readonly string[] | undefined {
  const namesPaths = directories.test(name) || (!isListed && name.endsWith('_PATH'));
  if (name === 'PATH' && texts.every((text) => projectTools.test(text))) return texts.map((text) => text.slice(0, -1));
  if (name === 'TMPDIR' && texts.every((text) => /^\/tmp\/?$/.test(text))) return [];
  if (namesPaths && texts.every((text) => plainPaths.test(text))) return texts.flatMap((text) => text.split(':'));
  return isHarmless(name, texts, isListed) ? [] : undefined;
}

function isHarmless(name: string, texts: readonly string[], isListed: boolean): boolean {
  if (!isListed && texts.every((text) => switches.test(text))) return true;
  return harmlessValues.some(([names, values]) => names.test(name) && texts.every((text) => values.test(text)));
}

/** Memory and collector settings of a Java machine. */
function javaOptions(): RegExp {
  return /^(?:-X(?:mx|ms|ss|mn)\d+[kKmMgG]?|-XX:[+-]?(?!On|Flags|VMOptions|Heap\w*Path|ErrorFile|Flight)\w+(?:=\w+)?|-D(?:file\.encoding=[\w-]+|user\.\w+=[\w/]+|org\.gradle\.\w+=\w+)|-ea| )*$/;
}

/** Options of node that load and open nothing. */
function nodeOptions(): RegExp {
  return /^(?:--(?:max-old-space-size=\d+|max-semi-space-size=\d+|experimental-(?:vm-modules|strip-types|require-module|specifier-resolution=node)|no-(?:warnings|deprecation|experimental-\w+)|enable-source-maps|trace-(?:warnings|deprecation|uncaught)|openssl-legacy-provider|unhandled-rejections=\w+|stack-trace-limit=\d+|throw-deprecation|dns-result-order=\w+)(?: +|$))*$/;
}
