/** Languages: a script of the workspace runs (the sandbox holds it), code in the command line is looked at, debuggers and servers ask. */
import type { Decision } from '#kernel/decision';
import { askFor, type Concern, isUnknownProgram } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { judgeCode, judgeInput } from './program-code.ts';
import { judgeModule } from './python-module.ts';
import { pathsIn, startsServer } from './script-words.ts';
import { type ShellWord, single } from './shell-word.ts';

interface Interpreter {
  readonly programs: RegExp;
  /** Options whose next word is code; a last letter in a cluster counts. */
  readonly inline: RegExp;
  /** Options that may stand alone. */
  readonly plain: RegExp;
  /** Options that take the next word: a path or a name in the workspace. */
  readonly valued?: RegExp;
  /** Asks with these whatever else stands there. */
  readonly refused?: RegExp;
  readonly modules?: true;
  /** With these the operands are written. */
  readonly edits?: RegExp;
  /** Code that is harmless though it looks like more. */
  readonly simple?: RegExp;
  /** What the next word of `valued` must be, where it is no path. */
  readonly values?: RegExp;
  /** Options with a path attached: read in the first group, written in the second. */
  readonly attached?: RegExp;
}

/** `s/a/b/g` or `print if /a/`: a pattern or a replacement that runs nothing. */
const perlPattern = String.raw`\/(?:[^/\\@\`(]|\\.|\((?!\?\??\{))*\/[gimsx]*`;
const perlCondition = String.raw`(?: (?:if|unless|while) ${perlPattern}(?: ?\.{2,3} ?${perlPattern})?)?`;
const perlEdit = new RegExp(
  String.raw`^(?=[\s\S]{0,300}$)\s*(?:(?:(?:s|y|tr)\/(?:[^/\\@$\`]|\\[^/]|\\\/|\$(?=[/)|]|\d)|@(?!\{))*\/(?:[^/\\@$\`]|\\.|\$\d|\$&)*\/[gimsx]*|(?:print|puts)(?: \$(?:_|\d|&))?${perlCondition}|print "(?:[^"$@\`\\]|\\[nt]|\$(?:[.&]|_\b|\d)(?!\[))*"${perlCondition})\s*;?\s*)+$`,
);

const interpreters: readonly Interpreter[] = [
  {
    programs: /^(?:node|nodejs)$/,
    inline: /^(?:-e|-p|-pe|--eval|--print)$/,
    plain:
      /^(?:-v|--version|-c|--check|-h|--help|--v8-options|--test(?:-(?!.*inspect)(?:(?:name|skip)-pattern=.*|[\w-]+(?:=(?!\/|~|(?:.*\/)?\.\.(?:\/|$)|[a-z]+:).*)?))?|--enable-source-maps|--no-warnings.*|--trace-(?:warnings|uncaught|deprecation|exit)|--max-old-space-size=\d+|--max-semi-space-size=\d+|--stack-size=\d+|--stack-trace-limit=\d+|--trace-(?:gc|opt|deopt)|--experimental-(?!loader|policy|permission|network-inspection|inspector)[\w-]+|--no-[\w-]+|--expose-gc|--strip-types|--transform-types|--throw-deprecation|--unhandled-rejections=\w+|--run=?.*|--input-type=\w+|--conditions=\w+|--disable-warning=\w+|--cpu-prof|--heap-prof|--prof|--openssl-legacy-provider|(?:--import|--require|--loader|--experimental-loader)=(?!(?:[^=]*\/)?\.\.(?:\/|$))[\w@.][\w@./-]*)$/,
    attached: /^--(?:env-file(?:-if-exists)?=(.+)|(?:cpu-prof-dir|heap-prof-dir)=(.+))$/,
    valued:
      /^(?:-r|--require|--import|--loader|--experimental-loader|-C|--conditions|--test-name-pattern|--test-reporter|--test-reporter-destination)$/,
    refused:
      /^(?:--inspect.*|inspect|debug|--debug.*|--prof-process|--openssl-(?!legacy-provider).*|--openssl|--diagnostic-dir.*|--icu-data-dir.*|--snapshot.*|--watch.*|-i|--interactive)$/,
  },
  {
    programs: /^(?:python|python2|python3|python3\.\d+|pypy|pypy3)$/,
    inline: /^-[BEIOSsuvbqdx]*c$/,
    plain: /^(?:-[BEIOSsuvbqdV]+|--version|-VV|-h|--help|-W[a-z][\w:.]*|-X(?:dev|utf8))$/,
    valued: /^-[WX]$/,
    simple: /^import\s(\w+); ?print\(\1\.(?:\w*(?:version|VERSION)\w*|[A-Z][A-Z_]+)\)$/,
    refused: /^(?:-[A-Za-z]*i|-X.*(?:perf|importtime)|--check-hash.*)$/,
    modules: true,
  },
  {
    programs: /^(?:ruby|jruby)$/,
    inline: /^-[wnplaU]*e$/,
    plain:
      /^(?:-[wcvU]+|-W\d?|--version|-Ilib|-Itest|-Ispec|-r(?:json|set|date|time|yaml|csv|pp|bigdecimal|securerandom|digest|erb|ostruct|stringio|benchmark|prime))$/,
    valued: /^-I$/,
    simple: perlEdit,
    refused:
      /^-(?:run|r(?!(?:json|set|date|time|yaml|csv|pp|bigdecimal|securerandom|digest|erb|ostruct|stringio|benchmark|prime)$).*|S|x.*)$/,
  },
  {
    programs: /^perl$/,
    inline: /^-[wnpl0-9ai]*[eE]$/,
    plain:
      /^(?:-[wcvlnpa]+|-0[0-7]*|-0?[wlnpa]+0?|-F[\w,:;|\t=-]{1,4}|-M(?:List::Util|Scalar::Util|JSON::PP|Data::Dumper|POSIX|Time::HiRes|Text::Wrap|Encode|utf8|5\.\d+)(?:=[\w,]+)?|-[wnpla0]*i(?:\.\w+)?|--version|-Ilib|-Mstrict|-Mwarnings)$/,
    edits: /^-[wnpla0]*i/,
    simple: perlEdit,
    valued: /^-I$/,
    refused:
      /^-(?:d.*|[Mm](?!(?:List::Util|Scalar::Util|JSON::PP|Data::Dumper|POSIX|Time::HiRes|Text::Wrap|Encode|utf8|5\.\d+|strict|warnings)(?:=|$)).*|S|x.*|T|U|s)$/,
  },
  {
    programs: /^php$/,
    inline: /^(?:-r|-B|-R|-E)$/,
    plain:
      /^(?:-l|-v|--version|-i|-m|-n|-q|-d(?:memory_limit|display_errors|error_reporting|max_execution_time|opcache\.enable(?:_cli)?|pcov\.enabled|zend\.assertions|xdebug\.mode)=(?!debug|[^ ]*debug)[\w-]*)$/,
    valued: /^-d$/,
    values:
      /^(?:memory_limit|display_errors|error_reporting|max_execution_time|opcache\.enable(?:_cli)?|pcov\.enabled|zend\.assertions|xdebug\.mode)=(?!.*(?:debug|trace|profile))[\w-]*$/,
    refused: /^(?:-S.*|-t|-c.*|-z.*|-a|--interactive|--server.*)$/,
  },
  {
    programs:
      /^(?:lua|luajit|R|Rscript|julia|groovy|scala|kotlin|escript|runghc|racket|guile|janet|elixir|ocaml|octave|tclsh|gnuplot|sbcl|amm|swipl|awkward|bb|raku|perl6)$/,
    inline: /^(?:-e|--eval)$/,
    plain:
      /^(?:-v|--version|--vanilla|--no-(?:save|restore|echo|gui|init-file)|--slave|--script|--quiet|--silent|-q|--project(?:=[\w.@][\w./@-]*)?|--threads=\w+|-t ?\d+|-O\d|--(?:startup-file|color|check-bounds|code-coverage)=\w+)$/,
  },
  {
    programs: /^java$/,
    inline: /^\0$/,
    plain:
      /^(?:-version|--version|-X(?:mx|ms|ss)\d+[kmgKMG]?|-ea|-server|-client|-D(?!java\.|jdk\.|sun\.|com\.sun\.)[\w.]+(?:=[\w.,:/-]*)?|--enable-preview|-XX:[+-]?(?!On|Flags|VMOptions|Heap\w*Path|ErrorFile|Flight)\w+(?:=\w+)?|-showversion|-XshowSettings(?::\w+)?|-Xlog:\w+)$/,
    valued: /^(?:-jar|-cp|-classpath|--class-path|-m|--module-path|-p|--source)$/,
  },
  {
    programs: /^(?:tsx|ts-node|ts-node-esm|vite-node|babel-node|swc-node|zx)$/,
    inline: /^(?:-e|-p|-pe|--eval|--print)$/,
    plain: /^(?:-T|--transpile-only|--esm|--files|--version|-v|--swc|--test)$/,
    valued: /^(?:-P|--project|--tsconfig)$/,
    refused: /^(?:watch|repl|--inspect.*|--watch)$/,
  },
];

/** undefined: the program is no interpreter. */
export function judgeInterpreter(invocation: Invocation, recursion: Recursion): readonly Decision[] | undefined {
  const found = interpreters.find((entry) => entry.programs.test(invocation.program));
  return found === undefined ? undefined : judgeArguments(found, invocation, recursion);
}

interface Reading {
  readonly language: Interpreter;
  readonly invocation: Invocation;
  readonly recursion: Recursion;
  readonly found: Decision[];
  index: number;
  /** Code was given in the command line. */
  sawCode: boolean;
  /** It changes its operands in place. */
  edits: boolean;
}

function judgeArguments(language: Interpreter, invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const reading: Reading = { language, invocation, recursion, found: [], index: 0, sawCode: false, edits: false };
  for (; reading.index < invocation.args.length; reading.index += 1) {
    const end = judgeArgument(reading);
    if (end !== undefined) return [...reading.found, ...end];
  }
  return [...reading.found, ...(reading.sawCode || onlyTells(invocation) ? [] : judgeInput(invocation))];
}

/** What the argument ends with: a script, a module, standard input, or something that asks; undefined to go on. */
function judgeArgument(reading: Reading): readonly Decision[] | undefined {
  const { language, invocation, index } = reading;
  const word = invocation.args[index];
  const text = single(word);
  if (word === undefined) return undefined;
  if (text === undefined)
    return reading.sawCode ? undefined : [askFor('unclear', word.offset, `\`${word.source.slice(0, 60)}\` is not known before it runs`)];
  if (language.refused?.test(text)) return [risky(word, text, invocation.program)];
  return text.startsWith('-') && text !== '-' ? judgeOption(reading, word, text) : judgeOperand(reading, text);
}

function judgeOperand(reading: Reading, text: string): readonly Decision[] {
  const { invocation, index, sawCode, edits } = reading;
  if (sawCode) return pathsIn(invocation.args.slice(index), invocation, edits ? 'write' : 'read');
  return text === '-' ? judgeInput(invocation) : (judgeToolFile(reading, text) ?? judgeScript(invocation, index));
}

/** `php composer.phar`, `python .venv/bin/pip`, `node .yarn/releases/yarn-4.1.0.cjs`: the file is a tool that has rules of its own. */
const toolFile =
  /(?:^|\/)(?:(composer|phpunit|php-cs-fixer|phpstan|psalm)(?:-[\d.]+)?\.phar|(npm|npx|yarn|pnpm|bunx)(?:-cli|-[\d.]+(?:-[\w.]+)?)?\.[cm]?js|(?:node_modules\/\.bin|\.venv\/bin|venv\/bin|vendor\/bin|bin)\/([a-z][\w-]*))$/;

function judgeToolFile({ invocation, index, recursion }: Reading, text: string): readonly Decision[] | undefined {
  const [, archive, manager, program] = toolFile.exec(text) ?? [];
  const tool = archive ?? manager ?? program;
  if (tool === undefined) return undefined;
  const judged = recursion.invocation({ ...invocation, program: tool, args: invocation.args.slice(index + 1) });
  const isKnown = judged.every((decision) => !isUnknownProgram(decision));
  return isKnown ? [...judged, ...judgeScript(invocation, index)] : undefined;
}

function judgeOption(reading: Reading, word: ShellWord, text: string): readonly Decision[] | undefined {
  const { language, invocation, recursion, found } = reading;
  const next = invocation.args[reading.index + 1];
  if (language.modules && /^-[BEIOSsuvbqd]*m/.test(text)) return judgeModule(invocation, reading.index, recursion);
  if (text === '-jar') return judgeScript(invocation, reading.index + 1);
  const attached = attachedFile(reading, word, text);
  if (attached !== undefined) {
    found.push(...attached);
    return undefined;
  }
  noteEdits(reading, text);
  if (language.inline.test(text)) takeCode(reading, next);
  else if (language.valued?.test(text)) {
    found.push(...judgeValue(language, next, { text, invocation }));
    reading.index += 1;
  } else if (!language.plain.test(text)) return [risky(word, text, invocation.program)];
  return undefined;
}

/** `--env-file=.env.test`: what speaks against the file; undefined: no file is attached. */
function attachedFile({ language, invocation }: Reading, { offset }: ShellWord, text: string): readonly Decision[] | undefined {
  const [, read, written] = language.attached?.exec(text) ?? [];
  const path = read ?? written;
  if (path === undefined) return undefined;
  return judgePath({ text: path, glob: false, offset }, read === undefined ? 'write' : 'read', invocation.scope);
}

function noteEdits(reading: Reading, text: string): void {
  if (reading.language.edits?.test(text)) reading.edits = true;
}

function takeCode(reading: Reading, next: ShellWord | undefined): void {
  const isSimple = reading.language.simple?.test(single(next) ?? '\0') ?? false;
  if (!isSimple) reading.found.push(...judgeCode(next, reading.invocation));
  reading.sawCode = true;
  reading.index += 1;
}

function judgeValue(
  { values }: Interpreter,
  next: ShellWord | undefined,
  { text, invocation }: { readonly text: string; readonly invocation: Invocation },
): readonly Decision[] {
  const value = single(next) ?? '\0';
  const isAddress = /^(?:[a-z][a-z0-9+.-]*:\/\/|data:)/i.test(value);
  if (values === undefined && !isAddress) return pathsIn(next === undefined ? [] : [next], invocation);
  return !isAddress && values?.test(value) ? [] : [risky(next ?? emptyWord(invocation), `${text} ${value}`, invocation.program)];
}

function emptyWord({ offset }: Invocation): ShellWord {
  return { values: [''], glob: false, quoted: true, offset, source: '' };
}

/** Versions, help, and test runs that find their own files. */
function onlyTells({ args }: Invocation): boolean {
  const texts = args.map((word) => single(word) ?? '');
  const finds = texts.includes('--test') && texts.every((text) => text.startsWith('--'));
  return (
    finds ||
    (args.length > 0 &&
      args.every((word) =>
        /^(?:-v|-V|-VV|-version|--version|-h|--help|--v8-options|--test.*|-i|-m|--run.*|-XshowSettings.*)$/.test(single(word) ?? ''),
      ))
  );
}

function risky(word: ShellWord, text: string, program: string): Decision {
  return askFor(
    'runs_other_code',
    word.offset,
    `\`${text.slice(0, 60)}\` of \`${program}\` opens a debugger or server, or loads other code`,
  );
}

function judgeScript(invocation: Invocation, index: number): readonly Decision[] {
  const [script, ...rest] = invocation.args.slice(index);
  const text = script?.values?.[0] ?? '';
  const offset = script?.offset ?? 0;
  const against = againstScript(text, rest);
  if (against !== undefined) return [askFor(against[0], offset, `\`${text.slice(0, 80)}\` ${against[1]}`)];
  if (text.startsWith('/dev/')) return judgeInput(invocation);
  return [...pathsIn(script === undefined ? [] : [script], invocation), ...pathsIn(rest, invocation)];
}

function againstScript(text: string, rest: readonly ShellWord[]): readonly [Concern, string] | undefined {
  if (startsServer(text, rest)) return ['never_ends', 'as a server that runs until it is stopped'];
  if (text.startsWith('@')) return ['runs_other_code', 'may hold options'];
  // `setup.py build` is the project's own; these leave the workspace.
  const installs =
    /(?:^|\/)setup\.py$/.test(text) &&
    rest.some((word) => /^(?:install\w*|develop|upload\w*|register|easy_install)$/.test(single(word) ?? ''));
  if (installs) return ['network_blocked', 'installs or publishes'];
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? ['network_blocked', 'is an address'] : undefined;
}
