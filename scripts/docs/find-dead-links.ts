/** Links and citations that lead nowhere: in Markdown pages, and in the comments of code that cite pages. */
import path from 'node:path';

/** The repository as this look needs it. Paths have forward slashes and count from its root. */
export interface Tree {
  /** Files that are kept in the repository. */
  readonly files: ReadonlySet<string>;
  read(file: string): string;
}

/** `line` from 1. */
export interface DeadLink {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Documents that are not in the repository, as people cited them here; a line may end within, and in code the next one begins with a comment's sign. */
const foreign = /\bdesign(?:\.md)?[\s*/]+§|\bseeds?[\s*/]+0\d\d\b|\bseeds['’]|\bnotes\/[a-z]+\.md|\(issue[\s*/]+\d+\b/gi;

/** `[text](target)`, pictures too. Targets in angle brackets and titles are not used here. */
const markdownLink = /\[(?:[^\][]|\[[^\]]*\])*\]\(([^()\s]+)\)/g;
/** A file that prose names in code quotes: `policy/decide-path.ts`. */
const namedFile = /`((?:[\w@.-]+\/)+[\w.-]+\.(?:ts|mjs|md|jsonc?|grit))`/g;
/** A page that code cites: docs/x.md, docs/adr/0004, each with an anchor or without. */
const citedPage = /(?<![\w/.-])(docs\/[\w./-]*[\w])(?:#([\w-]+))?/g;
const citedRecord = /\bADRs? (\d{1,2})\b/g;

export function findDeadLinks(pages: readonly string[], sources: readonly string[], tree: Tree): readonly DeadLink[] {
  return [...pages.flatMap((file) => inPage(file, tree)), ...sources.flatMap((file) => inSource(file, tree))];
}

function inPage(file: string, tree: Tree): readonly DeadLink[] {
  const page = withoutFences(tree.read(file));
  const links = eachLine(file, page, (text) => [
    ...matches(markdownLink, text).map(([, target = '']) => deadTarget(target, file, tree)),
    ...matches(namedFile, text).map(([, name = '']) => missingFile(name, file, tree)),
    ...records(text, tree),
  ]);
  return [...links, ...foreigners(file, page)];
}

function inSource(file: string, tree: Tree): readonly DeadLink[] {
  const source = tree.read(file);
  const cited = eachLine(file, source, (text) => [
    ...matches(citedPage, text).map(([, page = '', anchor]) => deadCitation(page, anchor, tree)),
    ...(/^\s*(?:\/?\*|\/\/)/.test(text) ? records(text, tree) : []),
  ]);
  return [...cited, ...foreigners(file, source)];
}

function eachLine(file: string, text: string, look: (text: string) => readonly (string | undefined)[]): readonly DeadLink[] {
  return text.split('\n').flatMap((line, index) =>
    look(line)
      .filter((message) => message !== undefined)
      .map((message) => ({ file, line: index + 1, message })),
  );
}

function matches(pattern: RegExp, text: string): readonly RegExpExecArray[] {
  return [...text.matchAll(pattern)];
}

/** Examples in fenced blocks link nowhere; the lines stay, so that numbers fit. */
function withoutFences(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ''));
}

function deadTarget(target: string, from: string, tree: Tree): string | undefined {
  if (/^[a-z]+:/i.test(target)) return undefined;
  const [name = '', anchor] = target.split('#', 2);
  const file = name === '' ? from : path.posix.join(path.posix.dirname(from), name);
  if (!exists(file, tree)) return `\`${target}\`: no such file`;
  return anchor === undefined ? undefined : deadAnchor(file, anchor, tree);
}

function deadCitation(page: string, anchor: string | undefined, tree: Tree): string | undefined {
  const found = tree.files.has(page) || [...tree.files].some((file) => file.startsWith(page.endsWith('.md') ? `${page}/` : page));
  if (!found) return `\`${page}\`: no such page`;
  return anchor === undefined ? undefined : deadAnchor(page, anchor, tree);
}

function deadAnchor(file: string, anchor: string, tree: Tree): string | undefined {
  if (!file.endsWith('.md')) return `\`${file}#${anchor}\`: only pages have headings`;
  return anchorsOf(tree.read(file)).has(anchor) ? undefined : `\`${file}#${anchor}\`: no such heading`;
}

/** A page’s anchors in the order of its headings, as GitHub makes them: lower case, words joined by hyphens, a number behind one that comes again. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of matches(/^#{1,6} (.+)$/gm, withoutFences(text))) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
    for (let again = 0; ; again += 1) {
      const name = again === 0 ? slug : `${slug}-${again}`;
      if (anchors.has(name)) continue;
      anchors.add(name);
      break;
    }
  }
  return anchors;
}

/** Prose shortens paths: they count from the page, the root, `src`, `docs` or `test`. What is built is not kept; a tool's examples are not ours. */
function missingFile(name: string, from: string, tree: Tree): string | undefined {
  if (from === 'docs/tools.md' || /^(?:dist|node_modules|\.[\w-]+)\//.test(name)) return undefined;
  const places = [path.posix.dirname(from), '', 'src', 'docs', 'test'].map((place) => path.posix.join(place, name));
  return places.some((place) => exists(place, tree)) ? undefined : `\`${name}\`: no such file`;
}

function records(text: string, tree: Tree): readonly (string | undefined)[] {
  return matches(citedRecord, text).map(([, number = '']) => {
    const start = `docs/adr/${number.padStart(4, '0')}-`;
    return [...tree.files].some((file) => file.startsWith(start)) ? undefined : `ADR ${number}: no such record`;
  });
}

function foreigners(file: string, text: string): readonly DeadLink[] {
  return matches(foreign, text).map(({ 0: cited, index }) => ({
    file,
    line: text.slice(0, index).split('\n').length,
    message: `\`${cited.replace(/\s[\s*/]*/g, ' ')}\` cites what is not in the repository; cite docs/ instead`,
  }));
}

function exists(file: string, tree: Tree): boolean {
  const plain = file.replace(/\/$/, '');
  return plain === '.' || tree.files.has(plain) || [...tree.files].some((kept) => kept.startsWith(`${plain}/`));
}
