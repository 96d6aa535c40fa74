/** The documents as a static site: plain pages with a navigation, without scripts, and nothing that is fetched from elsewhere. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import MarkdownIt, { type Token } from 'markdown-it';
import { anchorsOf } from './find-dead-links.ts';
import { navigation } from './site-navigation.ts';

/** Files of the site by their path in it: text that was made, or bytes of the repository as they are. */
export type Site = ReadonlyMap<string, string | Buffer>;

interface Page {
  /** From the repository's root, as `docs/start.md`. */
  readonly file: string;
  readonly source: string;
}

/**
 * @param root the repository
 * @throws when a page is in no navigation, or a link leads to no file: `npm run check` names those, too
 */
export function makeSite(root: string): Site {
  const read = (file: string) => readFileSync(path.join(root, file));
  const records = namesIn(root, 'docs/adr');
  const listed = navigation.flatMap(({ pages }) => pages.map(([file]) => file));
  const missing = namesIn(root, 'docs').filter((file) => !listed.includes(file));
  if (missing.length > 0) throw new Error(`in no navigation: ${missing.join(', ')}; see scripts/docs/site-navigation.ts`);

  const pages = new Set([...listed, ...records]);
  const site = new Map<string, string | Buffer>([['site.css', read('scripts/docs/site.css')]]);
  for (const file of pages) {
    const page = { file, source: read(file).toString('utf8') };
    site.set(
      placeOf(file),
      pageHtml(page, pages, (other) => site.set(other, read(other))),
    );
  }
  return site;
}

function namesIn(root: string, folder: string): readonly string[] {
  return readdirSync(path.join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

/** Where a page lies in the site: a README is its folder's first page. */
export function placeOf(file: string): string {
  return file.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html');
}

function pageHtml({ file, source }: Page, pages: ReadonlySet<string>, keep: (file: string) => void): string {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const { rules } = markdown.renderer;
  // What is wider than a screen scrolls by itself, and by keyboard.
  rules['table_open'] = () => '<div class="wide" tabindex="0">\n<table>\n';
  rules['table_close'] = () => '</table>\n</div>\n';
  rules['fence'] = (tokens, at) => {
    const { content = '', info = '' } = tokens[at] ?? {};
    return `<pre tabindex="0"${info === 'text' ? ' class="shown"' : ''}><code>${escaped(content)}</code></pre>\n`;
  };

  const tokens = markdown.parse(withoutComments(source), {});
  const headings = nameHeadings(tokens, source);
  emptyCorners(tokens);
  for (const token of tokens.flatMap((one) => one.children ?? [])) {
    if (token.type === 'link_open') aim(token, 'href', (target) => linkFrom(file, target, pages, keep));
    if (token.type === 'image') aim(token, 'src', (target) => linkFrom(file, target, pages, keep));
  }
  return layout(file, headings, markdown.renderer.render(tokens, markdown.options, {}));
}

/** Marks for tests and generators: nobody reads them. */
function withoutComments(source: string): string {
  return source.replace(/^<!--.*?-->\n/gm, '');
}

interface Heading {
  readonly level: string;
  readonly id: string;
  readonly text: string;
}

/** Names as GitHub gives them, so that links of the repository hold. */
function nameHeadings(tokens: readonly Token[], source: string): readonly Heading[] {
  const ids = [...anchorsOf(source)];
  const opens = tokens.flatMap((token, at) => (token.type === 'heading_open' ? [{ token, text: plainText(tokens[at + 1]) }] : []));
  if (ids.length !== opens.length) throw new Error(`${opens.length} headings, ${ids.length} names`);
  return opens.map(({ token, text }, index) => {
    const id = ids[index] ?? '';
    token.attrSet('id', id);
    return { level: token.tag, id, text };
  });
}

/** The corner of a table that heads nothing is no heading. */
function emptyCorners(tokens: readonly Token[]): void {
  for (const [at, token] of tokens.entries()) {
    const [text, close] = tokens.slice(at + 1);
    if (token.type !== 'th_open' || text?.content !== '' || close === undefined) continue;
    token.tag = 'td';
    close.tag = 'td';
  }
}

function plainText(inline: Token | undefined): string {
  return (inline?.children ?? []).map(({ content }) => content).join('');
}

function aim(token: Token, attribute: string, to: (target: string) => string): void {
  token.attrSet(attribute, to(token.attrGet(attribute) ?? ''));
}

/** A page's link leads to its place in the site; any other file of the repository goes along as it is. */
function linkFrom(file: string, target: string, pages: ReadonlySet<string>, keep: (file: string) => void): string {
  if (/^[a-z]+:/i.test(target) || target.startsWith('#')) return target;
  const [name = '', anchor] = target.split('#', 2);
  const named = path.posix.join(path.posix.dirname(file), name);
  const page = [named, `${named}/README.md`].find((one) => pages.has(one));
  if (page === undefined) keep(named);
  return `${between(file, page ?? named)}${anchor === undefined ? '' : `#${anchor}`}`;
}

function between(from: string, to: string): string {
  return path.posix.relative(path.posix.dirname(from), placeOf(to));
}

function layout(file: string, headings: readonly Heading[], content: string): string {
  const title = headings[0]?.text ?? 'Banksman';
  const sections = headings.filter(({ level }) => level === 'h2');
  const onPage = sections.map(({ id, text }) => `<li><a href="#${id}">${escaped(text)}</a></li>`).join('');
  const groups = navigation.map(({ title: name, pages }) => {
    const items = pages.map(([page, label]) => {
      const current = page === file;
      const link = `<a href="${between(file, page)}"${current ? ' aria-current="page"' : ''}>${escaped(label)}</a>`;
      return `<li>${link}${current && sections.length > 1 ? `<ul>${onPage}</ul>` : ''}</li>`;
    });
    return `<h2>${escaped(name)}</h2>\n<ul>${items.join('\n')}</ul>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title === 'Banksman' ? title : `${title} · Banksman`)}</title>
<link rel="stylesheet" href="${path.posix.relative(path.posix.dirname(file), 'site.css')}">
</head>
<body>
<header><a class="home" href="${between(file, 'README.md')}">Banksman</a> <a class="to-pages" href="#pages">All pages</a></header>
<main>
${content}</main>
<nav id="pages" aria-label="Pages">
${groups.join('\n')}
</nav>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
