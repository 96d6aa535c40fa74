/**
 * Code in the command line (`node -e`, `python3 -c`): what only computes and prints may run, what reaches for files, processes or the
 * network asks. The text cannot tell for certain; the sandbox is what holds.
 */

import { isSecretVariable } from './secret-variables.ts';

/** Modules that only compute, and files of the workspace by a relative name. */
const harmlessImports =
  /(?:require\s*\(\s*(['"])(?:\.\/[\w./-]+|(?:@?[\w-]+\/)*[\w-]+\.json|(?:node:)?(?:path|util|assert|url|os|crypto|zlib|events|querystring|perf_hooks|string_decoder))\1\s*\)|\brequire\.resolve\b|\bos\.(?:EOL|platform|arch|cpus|release|sep|linesep|getcwd\(\)|cpu_count\(\)|listdir\(\s*(?=\)|['"](?:\.?['"]|\w))|path\.(?:join|basename|dirname|splitext|exists|isfile|isdir|getsize|relpath))|(?:\bglob\.i?glob|\bPath\(\s*(['"])(?!\.\.)[\w.@-][\w.@/-]*\2\s*\)\.r?glob)\(\s*(?=['"][\w.@*-])|\.__(?:version|name|doc|file)__\b|IO\.(?:puts|inspect)\b|Buffer\.from\(\s*(['"])[^'"]*\3\s*\)\.toString\(\s*['"](?:hex|base64|base64url)['"]\s*\)|\bimportlib\.metadata\b|sqlite3\.(?:sqlite_version|Row)\b|platform\.\w+\(\)|\brequire ['"](?:json|set|date|time|yaml|csv|pp|bigdecimal|securerandom|digest|erb|ostruct|stringio|benchmark|prime)['"]|sys\.(?:std(?:out|err)\.write|version|path|stdin|argv|platform|executable))/g;
const reaching = new RegExp(
  [
    '\\b(?:run\\s*[(\'"]|shell\\w*\\s*[(\'"]|(?:shell|sh) ")',
    '\\b(?:_[a-z]\\w+|_SERVER|_ENV|socketserver|xmlrpc|antigravity|mmap|multiprocessing|signal|imaplib|poplib|nntplib|webbrowser|posix|selectors?|ssl|syslog|termios|winreg|msvcrt|bdb|cgi|zipimport|zipapp|keyring|secretstorage|dotenv|dotenv_values|load_dotenv|ensurepip|pip|sqlite3|dbm|shelve|linecache|fileinput|builtins)\\b',
    '\\b(?:gethost\\w+|getaddrinfo|inet_aton|fetch|https?|net|dns|dgram|tls|sockets?|requests?|urllib\\w*|urlopen|aiohttp|ftplib|smtplib|telnetlib|paramiko|XMLHttpRequest|WebSocket|child_process|cluster|worker_threads)\\b',
    '\\b(?:exec\\w*|spawn\\w*|systemw*|callCommand|Sys.command|Unix.|unsafePerformIO|System.(?:cmd|shell)|os:cmd|:os|run-(?:program|shell-command)|popen\\w*|create_subprocess\\w*|kill|loadstring|loadfile|dofile|ccall|Pkg|install\\.packages|download(?:\\.file)?|fork|subprocess|pty|ctypes|cffi|eval|compile|Function|globals|__\\w+__|importlib|import\\s*\\(|require|getattr|setattr|runpy|marshal|pickle|code)\\b|\\.\\s*constructor\\b|\\[\\s*[\'"`]constructor|\\bglobal(?:This)?\\s*\\[|\\bReflect\\b|\\bvars\\(\\)|\\[\\s*([\'"`])[^\'"`\\]]*\\1\\s*\\+\\s*[\'"`]',
    // Packages whose purpose is the network, other programs or stores of secrets.
    '\\b(?:import|from)\\s+(?:[\\w., ]+,\\s*)?(?:pip|ensurepip|keyring|secretstorage|boto3|botocore|pexpect|fabric|psycopg2?|pymysql|MySQLdb|redis|pymongo|docker|kubernetes|selenium|scapy|httpx|websockets?|asyncssh|pyautogui|win32\\w+)\\b',
    '\\b(?:open|read_(?:text|bytes)|iterdir|expanduser|fs|os|shutil|pathlib|Path|glob|tempfile|unlink\\w*|rm(?!arkdown)\\w*|rename\\w*|chmod\\w*|chown\\w*|mkdir\\w*|write\\w*|appendFile\\w*|copyFile\\w*|truncate\\w*|symlink\\w*|process|environ|ENV|getenv|Deno|Bun)\\b',
    '\\b(?:IO|File|Dir|Net|Kernel|Process|FileUtils|Pathname|Open3|Socket|TCPSocket|LWP|HTTP|DBI|use|qx|syscall|do)\\b(?=::|\\.|\\s|\\()',
    '\\b(?:file_get_contents|file_put_contents|fopen|shell_exec|passthru|proc_open|curl\\w*|wget|sudo|include\\w*|fsockopen|stream_\\w+)\\b',
    '%x\\b|%x[({\\[<|!]|<[^>]*>\\s*;|[\'"`](?:/(?=[\\w.*])|~|\\.\\./)|\\\\x|\\\\u|fromCharCode|atob|b64decode|Buffer|chr\\s*\\(|pack\\s*\\(|decode\\s*\\(',
  ].join('|'),
  's',
);
/** In JavaScript and Python a backquote or a slash starts text; elsewhere it may run a program or name a file. */
const textual = /^(?:node|nodejs|tsx|ts-node|ts-node-esm|vite-node|babel-node|swc-node|deno|bun|python\d?(?:\.\d+)?|pypy3?)$/;
const reachingByQuote = /`|(?:^|[\s=(,])(?:\/|~|\.\.\/)|(?:^|[;\n])\s*!/;
/** What reads, writes, runs or sends in one language only; elsewhere these are plain words. */
const reachingIn: ReadonlyMap<string, RegExp> = new Map([
  ['octave', /\b(?:unix|dos)\b/],
  ['scala', /["']\s*\.!/],
  ['amm', /["']\s*\.!|%%?\s*["']/],
  ['php', phpFunctions()],
]);
const longest = 6_000;

/** Whether the code reaches for anything but its own values and standard streams. */
export function reachesOut(code: string, program: string): boolean {
  const rest = code
    .replace(harmlessImports, '0')
    // An address that is taken apart reaches nothing.
    .replace(/\bnew URL\(\s*(['"`])https?:\/\/([\w./?=&-]*)\1\)\.(?:pathname|host|hostname|search|hash|origin|href|port|protocol)\b/g, '0')
    .replace(
      /\bprocess\.(?:std(?:in|out|err)(?:\.(?:on|once|read|write|resume|setEncoding|isTTY|columns))?|version|versions|platform|arch|argv|exit|exitCode|uptime|memoryUsage|hrtime(?:\.bigint)?|nextTick|cwd\(\))/g,
      '0',
    )
    .replace(
      /\bprocess\.env\.(\w+)|\bos\.environ(?:\.get\(|\[)(['"])(\w+)\2[\])]/g,
      (found, name?: string, _quote?: string, key?: string) => (isSecretVariable(name ?? key ?? '') ? found : '0'),
    )
    .replace(/\.write(?:lines)?\(/g, '(');
  if (reachingIn.get(program)?.test(rest)) return true;
  return code.length > longest || reaching.test(rest) || (!textual.test(program) && reachingByQuote.test(rest));
}

function phpFunctions(): RegExp {
  return /\b(?:readfile|file|fopen|highlight_file|show_source|php_strip_whitespace|parse_ini_file|SplFileObject|SplTempFileObject|DirectoryIterator|scandir|opendir|dir|glob|copy|rename|tempnam|touch|symlink|link|readlink|rmdir|mail|dl|create_function|call_user_func\w*|register_shutdown_function|simplexml_load_file|phpinfo|getenv|get_cfg_var|ini_set|putenv|move_uploaded_file|finfo\w*|hash_file|md5_file|sha1_file|gzfile|gzopen|bzopen|imap_open|mysqli?\w*|PDO|SoapClient|ReflectionFunction)\s*\(|\$\w+\s*\(|`|\b(?:include|require)(?:_once)?\b/;
}
