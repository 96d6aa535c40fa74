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
    'PERL.*|RUBY(?:OPT|LIB|GEMS_.*)|GEM_.*|BUNDLE_.*|LUA_.*|PHP.*|NODE_(?!ENV$|NO_WARNINGS$).*|npm_.*|NPM_.*|YARN_.*|PNPM_.*|BUN_.*|DENO_.*|COREPACK_.*|TS_NODE.*|JITI_.*|ELECTRON_.*',
    'JAVA_.*|_JAVA_.*|JDK_.*|CLASSPATH|MAVEN_.*|GRADLE_.*|SBT_.*|KOTLIN_.*|GO(?:FLAGS|PROXY|PATH|ROOT|TOOLCHAIN|BIN|ENV|NOSUMDB|NOSUMCHECK|INSECURE|PRIVATE|SUMDB|CACHE|WORK|AUTH|VCS)',
    'CARGO_(?!TERM_|INCREMENTAL$).*|RUSTC.*|RUSTUP_.*|RUSTDOC.*|CC|CXX|CPP|LD|AR|AS|FC|HOSTCC|COMPILER_PATH|C_INCLUDE_PATH|CPATH|LIBRARY_PATH|GCC_.*|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKEFILES|CMAKE_(?!BUILD_TYPE$).*|DOTNET_.*|MSBUILD.*|NUGET_.*|COMPlus_.*|CORECLR_.*',
    'PAGER|.*_PAGER|MANPAGER|LESS.*|EDITOR|VISUAL|.*_EDITOR|BROWSER|.*PROXY|.*proxy|RIPGREP_.*|GREP_.*|TAR_OPTIONS|GZIP|BZIP.*|XZ_.*|ZIPOPT|UNZIP|RSYNC_.*|WGETRC|CURL_.*|OPENSSL_.*|SSL_.*|DOCKER_.*|KUBECONFIG|AWS_.*|AZURE_.*|GOOGLE_.*|DISPLAY|DBUS_.*|WAYLAND_.*|VSCODE_.*|TERM_PROGRAM.*',
  ].join('|')})$`,
);
/** Words in an unknown name that say that its value is run, loaded or added. */
const suspicious =
  /(?:^|_)(?:PATH|OPTIONS?|OPTS|FLAGS|CMD|COMMAND|EXEC|EXECUTABLE|LOADER|PRELOAD|PLUGINS?|SHELL|CONFIG|RC|LIB|INIT|STARTUP|HOOKS?|WRAPPER|LAUNCHER|RUNNER|BINARY|BIN|INSPECT|AGENT|ASKPASS|SCRIPT)$/i;
const compilerFlags = /^(?:CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|RUSTFLAGS)$/;

export interface Assignment {
  readonly name: string;
  readonly value: ShellWord;
  readonly offset: number;
}

/** What speaks against an assignment; `program` is the command it stands before, if any. */
export function judgeAssignment({ name, value, offset }: Assignment, program: string | undefined, scope: PathScope): readonly Decision[] {
  // `while IFS= read -r line` is how lines are read.
  if (name === 'IFS' && program === 'read') return [];
  const fine =
    compilerFlags.test(name) && (value.values ?? ['$']).every((text) => /^(?:-(?:[OWgDfms]|std=)[\w=.,-]* ?|-D ?\w+ ?)*$/.test(text));
  if (fine) return [];
  if (compilerFlags.test(name)) return [askFor('environment', offset, `\`${name}\` may change the programs that are run`)];
  if (dangerous.test(name) || suspicious.test(name)) return [askFor('environment', offset, `\`${name}\` changes how programs run`)];
  return (value.values ?? []).flatMap((text) => {
    // Text that would become a command when some later word is evaluated.
    if (/\$\(|`|\(\) *\{/.test(text)) return [askFor('environment', offset, `\`${name}\` is given text that holds a command`)];
    return /^(?:\/|\.\.(?:\/|$)|\.\/)/.test(text) ? judgePath({ text, glob: false, offset }, 'read', scope) : [];
  });
}
