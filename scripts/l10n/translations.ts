/** Which texts need a translation, and what is wrong with those that there are. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describeTools } from '#app/catalog';
import { demoScript } from '#hosts/page/demo-passkey';
import { pageScript } from '#hosts/page/page-script';
import { manifestParts } from '#hosts/vscode/contributes/manifest';
import { externalize } from '#hosts/vscode/contributes/nls';
import type { JsonValue } from '#kernel/json';
import { type FoundTexts, placeholders, type Text, textsIn } from './texts.ts';

const root = path.join(import.meta.dirname, '..', '..');
const hostFolder = 'src/hosts/vscode';
const approvalPage = 'src/hosts/page';
/** What is shown there is said here, too; what is for terminals, other programs or tests of ours alone is not. */
const elsewhere = /^(?!hosts\/|demo\/).*\.ts$/;
/** Where the approval page listens, and why it cannot, is told to a terminal or a log. */
const ofTerminals: ReadonlySet<string> = new Set(['listen.ts']);
/** What the page's programs say to each other: headers, what a browser's key signs, names of styles. */
const ofPrograms: ReadonlySet<string> = new Set([
  ...['door.ts', 'sessions.ts', 'use strict', 'banksman page\n', 'input, select', 'notice good', 'notice bad', 'banksman    demo'],
  // An error that the page's script knows by its name.
  'not given',
]);
/** Texts of the manifest, which the generator takes out of it. */
const ofManifest = /^contributes\//;
/** For models and the log, who are told the same in every language. */
const notForPeople: ReadonlySet<string> = new Set([
  ...['log-requests.ts', 'tools/chat-words.ts', 'tools/run-tool.ts'],
  ...['agent-loop', 'conversation', 'memory', 'model-words', 'offer'].map((file) => `participant/${file}.ts`),
]);

/** English → German. */
export type Bundle = Readonly<Record<string, string>>;

export function readBundle(language = 'de'): Bundle {
  return JSON.parse(readFileSync(path.join(root, 'media', 'l10n', `bundle.l10n.${language}.json`), 'utf8')) as Bundle;
}

export interface Manifest {
  readonly manifest: JsonValue;
  /** Key → English. */
  readonly texts: Readonly<Record<string, string>>;
  readonly forPeople: ReadonlySet<string>;
}

export function readManifest(): Manifest {
  return externalize(JSON.parse(JSON.stringify(manifestParts(describeTools()))) as JsonValue);
}

/** Of a text of the manifest: `Banksman: ` and `…` are added to the titles of tools. undefined: there is none. */
export function translated(text: string, bundle: Bundle): string | undefined {
  const [, before = '', title = '', after = ''] = /^(Banksman: )?(.*?)(…?)$/s.exec(text) ?? [];
  const own = bundle[text];
  if (own !== undefined) return own;
  return bundle[title] === undefined ? undefined : `${before}${bundle[title]}${after}`;
}

/** One line each, with the place; empty: all texts for people go through `t`, and every one is in the bundle. */
export function textFaults(bundle: Bundle): readonly string[] {
  const files = readdirSync(path.join(root, hostFolder), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !ofManifest.test(file),
  );
  const found = files.map((file) => ({ file, ...textsIn(file, readFileSync(path.join(root, hostFolder, file), 'utf8')) }));
  const bare = found
    .filter(({ file }) => !notForPeople.has(file))
    .flatMap(({ file, bare: texts }) => texts.map(({ line, text }) => `${hostFolder}/${file}:${line}: not through \`t\`: ${short(text)}`));
  const raw = found
    .filter(({ file }) => !notForPeople.has(file))
    .flatMap(({ file, raw: said }) => said.map(({ line, text }) => `${hostFolder}/${file}:${line}: English as it was said: ${text}`));
  const faults = found.flatMap(({ file, faults: own }) => own.map((fault) => `${hostFolder}/${file}: ${fault}`));
  const wanted = new Set([
    ...[...found.flatMap(({ localized }) => localized), ...saidElsewhere(), ...onApprovalPage().flatMap(({ localized }) => localized)].map(
      ({ text }) => text,
    ),
    ...catalogTitles(),
  ]);
  return [
    ...bare,
    ...raw,
    ...faults,
    ...faultsElsewhere(),
    ...approvalPageFaults(),
    ...pageFaults(readPages(), bundle),
    ...bundleFaults(wanted, readManifest(), bundle),
  ];
}

const pageFolder = 'media/walkthrough';

/** Pages of the walkthrough by file name. The editor takes `NAME.nls.de.md` for `NAME.md`. */
export function readPages(): ReadonlyMap<string, string> {
  const files = readdirSync(path.join(root, pageFolder)).filter((file) => file.endsWith('.md'));
  return new Map(files.map((file) => [file, readFileSync(path.join(root, pageFolder, file), 'utf8')]));
}

/** Each page is there in German, with the same blocks to copy, and calls what the editor shows as the editor does. */
export function pageFaults(pages: ReadonlyMap<string, string>, bundle: Bundle): readonly string[] {
  const english = [...pages].filter(([file]) => !file.includes('.nls.'));
  return english.flatMap(([file, text]) => {
    const name = file.replace(/\.md$/, '.nls.de.md');
    const german = pages.get(name);
    if (german === undefined) return [`${pageFolder}/${name}: no such page`];
    const bold = [...text.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word = '']) => bundle[word]).filter((word) => word !== undefined);
    const unnamed = bold.filter((word) => !german.includes(`**${word}**`)).map((word) => `${pageFolder}/${name}: no **${word}**`);
    const blocks = (page: string) => page.match(/^```[\s\S]*?^```/gm)?.join('\n') ?? '';
    return blocks(text) === blocks(german) ? unnamed : [...unnamed, `${pageFolder}/${name}: other blocks than in English`];
  });
}

/** What the kernel and its neighbours say to people; what has no letter is the same in every language. */
function saidElsewhere(): readonly Text[] {
  return filesElsewhere()
    .flatMap(({ localized, told }) => [...localized, ...told])
    .filter(({ text }) => /\p{L}/u.test(text));
}

function faultsElsewhere(): readonly string[] {
  return filesElsewhere().flatMap(({ file, mute }) =>
    mute.map(({ line, text }) => `src/${file}:${line}: a failure with values in its text, and no \`say\`: ${short(text)}`),
  );
}

let parsedPage: readonly (FoundTexts & { readonly file: string })[] | undefined;

/** The approval page, and what its scripts say when each of our texts in them is taken out. */
function onApprovalPage(): NonNullable<typeof parsedPage> {
  if (parsedPage !== undefined) return parsedPage;
  const files = readdirSync(path.join(root, approvalPage)).filter((file) => !ofTerminals.has(file));
  const inBrowsers = [
    ['page.js', pageScript(() => "''")],
    ['demo-passkey.js', demoScript(() => "''")],
  ] as const;
  parsedPage = [
    ...files.map((file) => ({ file, ...textsIn(file, readFileSync(path.join(root, approvalPage, file), 'utf8')) })),
    ...inBrowsers.map(([file, source]) => ({ file, ...textsIn(file, source) })),
  ];
  return parsedPage;
}

function approvalPageFaults(): readonly string[] {
  return onApprovalPage().flatMap(({ file, bare, faults }) => [
    ...bare
      .filter(({ text }) => !ofPrograms.has(file) && !ofPrograms.has(text) && /\p{L}/u.test(text.replace(/<[^>]*>|\{\d+\}|Banksman/g, '')))
      .map(({ line, text }) => `${approvalPage}/${file}:${line}: not through \`say\`: ${short(text)}`),
    ...faults.map((fault) => `${approvalPage}/${file}: ${fault}`),
  ]);
}

let parsedElsewhere: readonly (FoundTexts & { readonly file: string })[] | undefined;

/** Each file is parsed once: that takes seconds. */
function filesElsewhere(): NonNullable<typeof parsedElsewhere> {
  parsedElsewhere ??= readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => elsewhere.test(file))
    .map((file) => ({ file, ...textsIn(file, readFileSync(path.join(root, 'src', file), 'utf8')) }));
  return parsedElsewhere;
}

function catalogTitles(): readonly string[] {
  return describeTools().map(({ title }) => title);
}

function bundleFaults(wanted: ReadonlySet<string>, { texts, forPeople }: Manifest, bundle: Bundle): readonly string[] {
  const ofManifestTexts = [...forPeople].map((key) => texts[key] ?? '');
  const missing = [...wanted].filter((text) => bundle[text] === undefined);
  const missingInManifest = ofManifestTexts.filter((text) => translated(text, bundle) === undefined);
  const leftOver = Object.keys(bundle).filter((text) => !wanted.has(text) && !ofManifestTexts.includes(text));
  const differing = Object.entries(bundle).filter(([text, own]) => placeholders(text).join() !== placeholders(own).join());
  return [
    ...[...new Set([...missing, ...missingInManifest])].map((text) => `bundle.l10n.de.json has no ${short(text)}`),
    ...leftOver.map((text) => `bundle.l10n.de.json has what nothing shows: ${short(text)}`),
    ...differing.map(([text]) => `bundle.l10n.de.json: other places than in English: ${short(text)}`),
  ];
}

function short(text: string): string {
  return JSON.stringify(text.length > 160 ? `${text.slice(0, 160)}…` : text);
}
