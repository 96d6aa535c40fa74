/**
 * Code in the command line (`node -e`, `python3 -c`): what only computes and prints may run, what reaches for files, processes or the
 * network asks. The text cannot tell for certain; the sandbox is what holds.
 */

/** Modules that only compute, and files of the workspace by a relative name. */
const harmlessImports =
  /(?:require\s*\(\s*(['"])(?:\.\/[\w./-]+|(?:@?[\w-]+\/)*[\w-]+\.json|node:(?:path|util|assert|url|os)|path|util|assert|url|os)\1\s*\)|\bos\.(?:EOL|platform|arch|cpus|release|path\.(?:join|basename|dirname))|\.__(?:version|name|doc|file)__\b|IO\.(?:puts|inspect)\b|sys\.(?:std(?:out|err)\.write|version|path|stdin|argv|platform|executable))/g;
const reaching = new RegExp(
  [
    '\\b(?:run\\s*[(\'"]|shell\\w*\\s*[(\'"]|(?:shell|sh) ")',
    '\\b(?:_[a-z]\\w+|socketserver|xmlrpc|antigravity|mmap|multiprocessing|signal|imaplib|poplib|nntplib|webbrowser|posix|selectors?|ssl|syslog|termios|winreg|msvcrt|bdb|cgi|zipimport|zipapp|sqlite3|dbm|shelve|linecache|fileinput|builtins)\\b',
    '\\b(?:fetch|https?|net|dns|dgram|tls|sockets?|requests?|urllib\\w*|urlopen|aiohttp|ftplib|smtplib|telnetlib|paramiko|XMLHttpRequest|WebSocket|child_process|cluster|worker_threads)\\b',
    '\\b(?:exec\\w*|spawn\\w*|systemw*|callCommand|Sys.command|Unix.|unsafePerformIO|System.(?:cmd|shell)|os:cmd|:os|run-(?:program|shell-command)|popen\\w*|create_subprocess\\w*|kill|loadstring|loadfile|dofile|ccall|Pkg|install\\.packages|download(?:\\.file)?|fork|subprocess|pty|ctypes|cffi|eval|compile|Function|globals|__\\w+__|importlib|import\\s*\\(|require|getattr|setattr|runpy|marshal|pickle|code)\\b',
    '\\b(?:open|fs|os|shutil|pathlib|Path|glob|tempfile|unlink\\w*|rm\\w*|rename\\w*|chmod\\w*|chown\\w*|mkdir\\w*|write\\w*|appendFile\\w*|copyFile\\w*|truncate\\w*|symlink\\w*|process|environ|ENV|getenv|Deno|Bun)\\b',
    '\\b(?:IO|File|Dir|Net|Kernel|Process|FileUtils|Pathname|Open3|Socket|TCPSocket|LWP|HTTP|DBI|use|qx|syscall|do)\\b(?=::|\\.|\\s|\\()',
    '\\b(?:file_get_contents|file_put_contents|fopen|shell_exec|passthru|proc_open|curl\\w*|wget|sudo|include\\w*|fsockopen|stream_\\w+)\\b',
    '%x\\b|%x[({\\[<|!]|`|<[^>]*>\\s*;|(?:^|[\'"\\s=(,])(?:/|~|\\.\\./)|\\\\x|\\\\u|fromCharCode|atob|b64decode|Buffer|chr\\s*\\(|pack\\s*\\(|decode\\s*\\(',
  ].join('|'),
  's',
);

/** Whether the code reaches for anything but its own values and standard streams. */
export function reachesOut(code: string): boolean {
  const rest = code
    .replace(harmlessImports, '0')
    .replace(/\bprocess\.(?:stdout\.write|version|versions|platform|arch|argv|exit|exitCode)\b/g, '0');
  return code.length > 2_000 || reaching.test(rest);
}
