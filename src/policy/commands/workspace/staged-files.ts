/**
 * Text that a line writes to a file and then runs (`echo 'curl x' > a.sh; sh a.sh`). It is judged as far as it says for certain what is
 * refused elsewhere; of the rest the sandbox takes care, as of every script.
 */
import type { Decision } from '#kernel/decision';
import { placed } from '../command-decision.ts';
import { decodeWord, decodeWords } from './decode-word.ts';
import { askFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { absolutePath } from './made-files.ts';
import { recipesOf } from './makefile-recipes.ts';
import { printedText } from './pipeline-neighbours.ts';
import { type ShellWord, single } from './shell-word.ts';
import { childOf, type SyntaxNode } from './syntax-node.ts';
import { type Place, type Walk, wordScope } from './walk-state.ts';

/** Notes what the statement writes to files, where its words tell the text. */
export function noteStaged(walk: Walk, node: SyntaxNode, place: Place): void {
  const all = [
    ...node.namedChildren,
    ...node.namedChildren.filter((child) => child.type === 'heredoc_redirect').flatMap((child) => child.namedChildren),
  ];
  const files = all
    .filter((child) => child.type === 'file_redirect' && /^1?&?>/.test(child.text))
    .map((child) => childOf(child, 'destination'));
  const text = files.length === 0 ? undefined : writtenText(walk, node, place);
  if (text === undefined) return;
  for (const file of files) {
    if (file === undefined) continue;
    for (const name of decodeWord(file, wordScope(walk, place)).values ?? [])
      addText(walk.made.texts, name, { text, directories: place.directories });
  }
}

function addText(
  texts: Map<string, readonly string[]>,
  name: string,
  { text, directories }: { readonly text: string; readonly directories: readonly string[] },
): void {
  for (const directory of directories) {
    const path = absolutePath(name, directory);
    texts.set(path, [...(texts.get(path) ?? []), text]);
  }
}

/** Stands for a text that was hidden from whoever reads the line. */
const decoded = '\u{f0001}';
const decodes =
  /(?:^|\|)\s*(?:(?:base64|base32|basenc)\s[^|]*(?<=\s)(?:-\w*[dD]|--decode)|xxd\s[^|]*-\w*r|openssl\s[^|]*\s-d\b|rev\b|tr\s+(?!-[a-zA-Z]*[ds])|uudecode\b)[^|]*$/;

function writtenText(walk: Walk, node: SyntaxNode, place: Place): string | undefined {
  const body = childOf(node, 'body') ?? node;
  if (decodes.test(body.text)) return decoded;
  const heredoc = node.namedChildren
    .find((child) => child.type === 'heredoc_redirect')
    ?.namedChildren.find((child) => child.type === 'heredoc_body');
  if (heredoc !== undefined) return /^cat(?: -)?$/.test(withoutRedirects(body)) ? heredoc.text : undefined;
  if (body.type !== 'command' || !/^(?:echo|printf)\b/.test(body.text)) return undefined;
  const words = body.namedChildren
    .filter((child) => !child.type.endsWith('_redirect'))
    .flatMap((child) => decodeWords(child, wordScope(walk, place)));
  return printedText(words.map((word) => single(word) ?? word.source));
}

function withoutRedirects(body: SyntaxNode): string {
  return body.namedChildren
    .filter((child) => !child.type.endsWith('_redirect'))
    .map((child) => child.text)
    .join(' ');
}

const shells = /^(?:ba|da|z|k|a)?sh$|^(?:\.|source)$/;
const languages = /^(?:node|nodejs|python[\d.]*|pypy3?|ruby|perl|php|lua|luajit|tsx|ts-node|bun|deno|Rscript|julia|awk|gawk)$/;
const builds = /^(?:make|gmake)$/;
const packageScripts = /^(?:npm|pnpm|yarn|bun)$/;

/** What speaks against running a file whose text stands in the line. */
export function judgeStaged(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { texts } = invocation.scope.made;
  noteTee(invocation);
  if (texts.size === 0) return [];
  const { program, args } = invocation;
  const operands = args.filter((word) => !/^[-+]/.test(single(word) ?? ''));
  if (program.includes('/')) return judgeTexts(invocation, [program], recursion);
  if (shells.test(program) || languages.test(program))
    return judgeTexts(
      invocation,
      operands.slice(0, 2).flatMap(({ values = [] }) => values),
      recursion,
    );
  if (builds.test(program)) return judgeTexts(invocation, [...makefiles, ...operands.flatMap(({ values = [] }) => values)], recursion);
  return packageScripts.test(program) ? judgeTexts(invocation, ['package.json'], recursion) : [];
}

const makefiles = ['Makefile', 'makefile', 'GNUmakefile'];

function noteTee({ program, args, inputText, scope }: Invocation): void {
  if (program !== 'tee' || inputText === undefined) return;
  for (const word of args)
    for (const name of word.values ?? [])
      if (!name.startsWith('-')) addText(scope.made.texts, name, { text: inputText, directories: scope.directories });
}

function judgeTexts(invocation: Invocation, names: readonly string[], recursion: Recursion): readonly Decision[] {
  const { scope, offset } = invocation;
  const paths = new Set(scope.directories.flatMap((directory) => names.map((name) => absolutePath(name, directory))));
  return [...paths].flatMap((path) => {
    const parts = scope.made.texts.get(path);
    if (parts === undefined) return [];
    if (parts.includes(decoded)) return [askFor('runs_other_code', offset, `\`${path}\` is run, and its text is decoded first`)];
    return judgeText(parts.join('\n'), { path, invocation, recursion });
  });
}

interface Staged {
  readonly path: string;
  readonly invocation: Invocation;
  readonly recursion: Recursion;
}

function judgeText(text: string, { path, invocation, recursion }: Staged): readonly Decision[] {
  const { program, offset } = invocation;
  const name = path.slice(path.lastIndexOf('/') + 1);
  const interpreter = /^#!.*?(\w+)[\d.]*\s*$/m.exec(text.split('\n', 1)[0] ?? '')?.[1] ?? '';
  const isCode = languages.test(program) || (languages.test(interpreter) && !shells.test(program));
  if (isCode)
    return tellsHarm(text)
      ? [askFor('runs_other_code', offset, `\`${name}\` is run, and its text reaches for the network or a refused program`)]
      : [];
  return scriptsIn(text, invocation)
    .flatMap((script) => recursion.script(script, invocation, recursion.variables))
    .filter(isCertain)
    .map((decision) => ({ ...decision, reason: placed(offset, `\`${name}\` is run, and in its text ${withoutPlace(decision.reason)}`) }));
}

/** The texts of the shell that the program takes out of the file. */
function scriptsIn(text: string, { program, args }: Invocation): readonly string[] {
  if (builds.test(program))
    return recipesOf(
      text,
      args.flatMap(({ values = [] }) => values),
    );
  return packageScripts.test(program) ? scriptsOf(text, args) : [text];
}

/** The place was one in the file. */
function withoutPlace(reason: string): string {
  return reason.replace(/^refused at character \d+: /, '');
}

/** Of a script only what it is certain to do: what is not known, the sandbox holds. */
function isCertain({ effect, code, rules }: Decision): boolean {
  if (rules.some((rule) => /^workspace\.(?:gate|syntax)$/.test(rule))) return false;
  return (
    effect === 'deny' ||
    /^(?:network_blocked|SECRET_\w+|CONTROL_FILE|PATH_OUTSIDE_WORKSPACE|SYMLINK_OUTSIDE_WORKSPACE|never_ends)$/.test(code)
  );
}

/** Code that opens a connection. */
const connects =
  /\b(?:import|from)\s+(?:socket|urllib|http\.client|requests|aiohttp|httpx|ftplib|smtplib|telnetlib|paramiko)\b|\b(?:require\s*\(|import\b[^;\n]*?from)\s*['"](?:node:)?(?:net|dgram|tls|dns|https?|http2|axios|node-fetch|undici)['"]|\b(?:IO::Socket|LWP::|Net::HTTP|TCPSocket|socket\.http|fsockopen|curl_init)|\bfetch\s*\(\s*['"`]https?:/;
/** Code that starts programs, and the name of one that is refused by itself. */
const starts = /\b(?:exec\w*|spawn\w*|system|popen\w*|subprocess|check_output|shell_exec|passthru|qx)\b|`/;
const refused =
  /['"`](?:\S*\/)?(?:sudo|su|doas|curl|wget|nc|ncat|socat|ssh|scp|telnet|nohup|setsid|systemctl|crontab|reboot|shutdown|mount|docker)(?:\s|['"`])/;

function tellsHarm(text: string): boolean {
  return connects.test(text) || (starts.test(text) && refused.test(text));
}

/** The scripts of a `package.json` that the words name, with those that run before and after them. */
function scriptsOf(text: string, args: readonly ShellWord[]): readonly string[] {
  const names = new Set(args.flatMap(({ values = [] }) => values));
  const isRun = (name: string) => names.has(name) || names.has(name.replace(/^(?:pre|post)/, ''));
  return [...text.matchAll(/"([\w:.-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g)]
    .filter(([, name = '']) => isRun(name))
    .map(([, , script = '']) => script.replace(/\\(.)/g, '$1'));
}
