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
  if (module === 'timeit') return args.flatMap((word) => judgeTimed(word, invocation));
  if (module === 'venv' && args.some((word) => textOf(word).startsWith('--upgrade')))
    return [askFor('network_blocked', offset, '`venv` with an upgrade of what it installs')];
  if (pythonModules.has(module) || isOwnModule(module, invocation)) return pathsIn(args, invocation);
  return [askFor('runs_other_code', offset, `the module \`${module.slice(0, 40)}\` is not known to be harmless`)];
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
