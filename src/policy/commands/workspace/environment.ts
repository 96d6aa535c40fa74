/** Assignments before a command or by `export`: which names change how programs run. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import { harmlessPaths, suspicious } from './harmless-assignments.ts';
import { judgePath, type PathScope } from './judge-path.ts';
import type { ShellWord } from './shell-word.ts';

/** SECURITY: each names a file to load, a program to run, options to add, or a place to take things from. */
const dangerous = new RegExp(
  `^(?:${[
    'LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*|GLIBC_.*|RES_OPTIONS|HOSTALIASES',
    'PATH|HOME|IFS|ENV|SHELL|SHELLOPTS|BASHOPTS|BASH_.*|PS[0-9]|PROMPT_COMMAND|CDPATH|GLOBIGNORE|FIGNORE|EXECIGNORE|HISTFILE|POSIXLY_CORRECT|TMPDIR|XDG_.*|ZDOTDIR|OLDPWD|PWD|INPUTRC|TERMINFO.*|TERMCAP',
    'GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$).*|SSH_.*|SUDO_.*|GPG_.*|GNUPGHOME',
    'PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$|HASHSEED$|IOENCODING$|UTF8$).*|PYTEST_(?:ADDOPTS|PLUGINS)|PIP_.*|UV_(?!THREADPOOL_SIZE$).*|POETRY_.*|VIRTUAL_ENV|CONDA_.*',
    'PERL.*|RUBY(?:OPT|LIB|SHELL|GEMS_.*)|GEM_.*|BUNDLE_.*|LUA_.*|PHP.*|NODE_(?!ENV$|NO_WARNINGS$).*|npm_(?!package_|lifecycle_).*|NPM_.*|YARN_.*|PNPM_.*|BUN_.*|DENO_.*|COREPACK_.*|TS_NODE.*|JITI_.*|ELECTRON_.*',
    'JAVA_.*|_JAVA_.*|JDK_.*|CLASSPATH|MAVEN_.*|GRADLE_.*|SBT_.*|KOTLIN_.*|GO(?:FLAGS|PROXY|PATH|ROOT|TOOLCHAIN|BIN|ENV|NOSUMDB|NOSUMCHECK|INSECURE|PRIVATE|SUMDB|CACHE|WORK|AUTH|VCS)',
    'CARGO_(?!TERM_|INCREMENTAL$).*|RUSTC.*|RUSTUP_.*|RUSTDOC.*|CC|CXX|CPP|LD|AR|AS|FC|HOSTCC|COMPILER_PATH|C_INCLUDE_PATH|CPATH|LIBRARY_PATH|GCC_.*|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKEFILES|CMAKE_(?!BUILD_TYPE$).*|DOTNET_.*|MSBUILD.*|NUGET_.*|COMPlus_.*|CORECLR_.*',
    'PAGER|.*_PAGER|MAN(?!WIDTH$)[A-Z]+|LESS.*|EDITOR|VISUAL|.*_EDITOR|BROWSER|.*PROXY|.*proxy|RIPGREP_.*|GREP_.*|TAR_OPTIONS|GZIP|BZIP.*|XZ_.*|ZIPOPT|UNZIP|RSYNC_.*|WGETRC|CURL_.*|OPENSSL_.*|SSL_.*|DOCKER_.*|KUBECONFIG|AWS_.*|AZURE_.*|GOOGLE_.*|DISPLAY|DBUS_.*|WAYLAND_.*|XDEBUG_.*|R_(?:PROFILE|ENVIRON|LIBS|HOME).*|ERL_.*|ANT_.*|TEXMF.*|EMACS\\w+|ACKRC|MORE|ANSIBLE_.*|TF_(?:CLI|PLUGIN|DATA|REATTACH).*|HELM_.*|(?:M2|GROOVY|KOTLIN|SCALA|JRUBY|SPARK|HADOOP|CATALINA)_HOME|CCACHE_PREFIX.*|DISTCC_.*|GIO_.*|GST_PLUGIN.*|(?:LEX|YACC|RM|MAKE|NM|RANLIB|STRIP|OBJCOPY|INSTALL|TAR|SED|AWK|LN|CP|MV|MKDIR|PYTHON)|GTK_(?:MODULES|PATH|EXE_PREFIX)|QT_(?:PLUGIN_PATH|QPA_PLATFORM_PLUGIN_PATH)|CVS_RSH|VSCODE_.*|TERM_PROGRAM.*',
  ].join('|')})$`,
);
/** Flags of compilers that load nothing and run nothing. */
const compilerFlags = /^(?:(?:CGO_)?(?:CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)|RUSTFLAGS|RUSTDOCFLAGS)$/;
const plainFlag =
  /^(?:-(?:[OWgDm]|f(?!plugin|use-ld)|std=|s$)[\w=.,+-]*|-[IL](?!\/(?!usr\/)|~)(?!.*\.\.)[\w./-]+|-l[\w.+-]+|-D ?\w+|-pthread|-C(?!link)[\w=+,-]*|(?:target-cpu|target-feature|opt-level|debuginfo|codegen-units|lto|panic|strip|instrument-coverage|overflow-checks)(?:=[\w+,-]+)?|--cfg|[a-z_]+(?:="\w+")?|-A|warnings)$/;

export interface Assignment {
  readonly name: string;
  readonly value: ShellWord;
  readonly offset: number;
}

/** What speaks against an assignment; `program` is the command it stands before, if any. */
export function judgeAssignment({ name, value, offset }: Assignment, program: string | undefined, scope: PathScope): readonly Decision[] {
  if (changesNothing(name, value.source, program)) return [];
  const texts = value.values ?? ['$'];
  if (compilerFlags.test(name)) {
    const arePlain = texts.every((text) => text.split(' ').every((flag) => flag === '' || plainFlag.test(flag)));
    return arePlain ? [] : [askFor('environment', offset, `\`${name}\` may change the programs that are run`)];
  }
  // Programs heed names in capitals; small ones are the line's own.
  return dangerous.test(name) || (suspicious.test(name) && name !== name.toLowerCase())
    ? judgeListed(name, texts, { offset, scope })
    : judgeOther(name, value, scope);
}

/** `while IFS= read -r line` is how lines are read; `HOME="$HOME"` leaves it as it is. */
function changesNothing(name: string, source: string, program: string | undefined): boolean {
  const kept = /^"?\$(?:(\w+)|\{(\w+)\})"?$/.exec(source)?.slice(1);
  return kept?.includes(name) === true || (name === 'IFS' && program === 'read');
}

function judgeListed(
  name: string,
  texts: readonly string[],
  { offset, scope }: { readonly offset: number; readonly scope: PathScope },
): readonly Decision[] {
  const paths = harmlessPaths(name, texts, dangerous.test(name));
  if (paths === undefined) return [askFor('environment', offset, `\`${name}\` changes how programs run`)];
  return paths.flatMap((path) => judgePath({ text: path, glob: false, offset }, 'read', scope));
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
