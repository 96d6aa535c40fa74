/** `python -m NAME`: tools that have rules of their own, modules that compute or write in the workspace, the project's own. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgeCode } from './program-code.ts';
import { pathsIn } from './script-words.ts';
import { type ShellWord, single } from './shell-word.ts';
import { pythonToolNames } from './tools/checker-names.ts';
import { words } from './words.ts';

/** Modules that compute or write inside the workspace; test tools are judged as themselves. */
const pythonModules: ReadonlySet<string> = new Set(
  words(
    'venv json.tool unittest compileall py_compile timeit doctest tarfile cProfile build ast dis calendar platform pybind11 nbconvert pstats tabnanny tokenize trace this zipfile sysconfig site gzip base64 pyclbr inspect',
  ),
);
/** Modules that are tools with rules of their own, by the name of their program. */
const pythonTools: ReadonlyMap<string, string> = new Map(
  [
    ...pythonToolNames,
    ...words(
      'pytest pip poetry tox nox sphinx pre-commit pdb debugpy uvicorn gunicorn codespell mkdocs celery yamllint sqlfluff flask fastapi alembic',
    ),
  ]
    .map((program): [string, string] => [program.replaceAll('-', '_'), program])
    .concat([
      ['django', 'django-admin'],
      ['grpc_tools.protoc', 'protoc'],
    ]),
);

/** What speaks against the module that the word at `index` names, and its words. */
export function judgeModule(invocation: Invocation, index: number, recursion: Recursion): readonly Decision[] {
  const [option, next] = invocation.args.slice(index);
  const attached = textOf(option).replace(/^-[BEIOSsuvbqd]*m/, '');
  const isAttached = attached !== '';
  const module = isAttached ? attached : textOf(next);
  const called = { ...invocation, args: invocation.args.slice(index + (isAttached ? 1 : 2)), offset: option?.offset ?? invocation.offset };
  const tool = pythonTools.get(module);
  if (tool !== undefined) return recursion.invocation({ ...called, program: tool });
  const profiled = profiledModule(module, called.args);
  return profiled === undefined ? judgeOther(module, called) : judgeModule(called, profiled, recursion);
}

/** One that has no rules of its own. */
function judgeOther(module: string, invocation: Invocation): readonly Decision[] {
  const { args, offset } = invocation;
  if (module === 'pydoc' && args.length === 1 && /^[A-Za-z_][\w.]*$/.test(textOf(args[0]))) return [];
  if (module === 'timeit') return args.flatMap((word) => judgeTimed(word, invocation));
  if (module === 'venv' && args.some((word) => textOf(word).startsWith('--upgrade')))
    return [askFor('network_blocked', offset, '`venv` with an upgrade of what it installs')];
  if (pythonModules.has(module) || isOwnModule(module, invocation)) return pathsIn(args, invocation);
  if (!reaches(module)) return pathsIn(args, invocation);
  return [askFor('runs_other_code', offset, `the module \`${module.slice(0, 40)}\` serves, waits, debugs, or reaches for the network`)];
}

/** Of the standard library and of well-known packages. SECURITY: any other module is a script like `python x.py`, which the sandbox holds. */
const reaching: ReadonlySet<string> = new Set(
  words(
    'simplehttpserver cgihttpserver basehttpserver http xmlrpc wsgiref socketserver smtpd smtplib ftplib telnetlib poplib imaplib nntplib urllib webbrowser asyncio code bdb pdb idlelib turtledemo turtle ensurepip zipapp pydoc antigravity cgi ctypes curses multiprocessing runpy rlcompleter sqlite3 mailbox getpass pty test distutils tkinter os socket ssl signal sched cmd select',
  ).concat(
    words(
      'pyftpdlib uploadserver rangehttpserver httpbin twisted aiohttp bottle werkzeug waitress gevent tornado hypercorn daphne granian sanic litestar robyn quart livereload aiosmtpd websockets websocket autobahn jupyter notebook jupyterlab jupyter_server nbclassic voila panel bokeh streamlit gradio dash mlflow tensorboard visdom ray dask distributed luigi prefect airflow rq huey dramatiq arq supervisor circus honcho ipython bpython ptpython konch xonsh ipdb pudb debugpy ptvsd pdbpp wdb rpdb remote_pdb web_pdb pydevd pyringe pyrasite manhole memray scalene py_spy austin viztracer scapy impacket pwn pwntools mitmproxy proxy pproxy shadowsocks sshuttle paramiko fabric asyncssh httpie httpx requests wget curl youtube_dl yt_dlp gdown speedtest shodan ansible keyring secretstorage awscli boto boto3 gsutil huggingface_hub kaggle twine pipx easy_install conda mamba hatch devpi_server pypiserver nox_poetry locust schedule watchdog watchfiles watchgod hupper gitpython invoke plumbum pexpect ptyprocess pyautogui pynput mss daemon daemonize',
    ),
  ),
);
/** Words in a module's name that say that it goes on or opens something, and words that say that it only tries or shows that. */
const serves = /^(?:\w*servers?|serve|\w*httpd|\w*ftpd|\w*proxy|\w*daemon|workers?|listener|repl|shell|console|debugger|\w*miner)$/;
const tries =
  /^(?:tests?|\w+tests?|testing|selftest|spec|checks?|lint|mocks?|fixtures?|demo|examples?|utils?|helpers?|clients?|cli|report|bench|benchmarks?|tools?)$/;

function reaches(module: string): boolean {
  const name = module.toLowerCase();
  const parts = name.split(/[._]/);
  if (!/^[a-z_]\w*(?:\.\w+)*$/.test(name)) return true;
  if (reaching.has(name) || reaching.has(name.split('.', 1)[0] ?? '')) return true;
  return parts.some((part) => serves.test(part)) && !parts.some((part) => tries.test(part));
}

function textOf(word: ShellWord | undefined): string {
  return single(word) ?? '';
}

/** Where a profiler or tracer names a module to run (`-m cProfile -m pip`), or undefined. */
function profiledModule(module: string, rest: readonly ShellWord[]): number | undefined {
  const index = /^(?:cProfile|profile|trace|pdb)$/.test(module) ? rest.findIndex((word) => /^(?:-m|--module)$/.test(textOf(word))) : -1;
  return index < 0 ? undefined : index;
}

/** Every word of `timeit` that is no option or number is code. */
function judgeTimed(word: ShellWord, invocation: Invocation): readonly Decision[] {
  return /^-[sunrvp]?$|^\d+$/.test(single(word) ?? '') ? [] : judgeCode(word, invocation);
}

/** A module that lies in the workspace. SECURITY: `http/` beside it does not make `http.server` the project's own. */
function isOwnModule(module: string, { scope }: Invocation): boolean {
  const path = module.split('.');
  // Names of projects' own directories, which no library has.
  if (/^(?:src|app|tests?|scripts|tools|examples|benchmarks)$/.test(path[0] ?? '') && !/^tests?$/.test(module)) return true;
  if (!path.every((name) => /^\w+$/.test(name))) return false;
  const last = path.at(-1) ?? '';
  const at = [
    [...path.slice(0, -1), `${last}.py`],
    [...path, '__main__.py'],
  ];
  return ['', 'src'].some((base) =>
    at.some((segments) => scope.view.facts.look([...(base === '' ? [] : [base]), ...segments]).kind === 'file'),
  );
}
