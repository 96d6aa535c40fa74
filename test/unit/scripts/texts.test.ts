import { describe, expect, it } from 'vitest';
import * as buttons from '#hosts/vscode/gate/review';
import { t, titleOf, useTexts } from '#hosts/vscode/l10n';
import { textsIn } from '../../../scripts/l10n/texts.ts';
import { pageFaults, readBundle, readPages, textFaults, translated } from '../../../scripts/l10n/translations.ts';

const bareIn = (source: string) => textsIn('a.ts', source).bare.map(({ text }) => text);

describe('a text that no translation reaches', () => {
  it.each([
    ["notify.info('There is no plan.');", 'There is no plan.'],
    [`notify.info(\`There is no plan \${id}.\`);`, 'There is no plan {0}.'],
    ["const item = { label: 'Review' };", 'Review'],
    ["pick.title = list.join(', ') + 'of the cluster';", 'of the cluster'],
    ["const words = ['Select to mark it as seen.'].join(' ');", 'Select to mark it as seen.'],
    ['html`<p class="dim">Reading…</p>`', '<p class="dim">Reading…</p>'],
    ["const words = { a: 'waits for a person' };", 'waits for a person'],
    ["commands.registerCommand('a.b', async () => ask({ title: 'Search Requests' }));", 'Search Requests'],
  ])('is found: %s', (source, text) => {
    expect(bareIn(source)).toContain(text);
  });

  it.each([
    "notify.info(t('There is no plan.'));",
    "notify.info(l10n.t('There is no plan {0}.', id));",
    `html\`<p class="dim">\${t('Reading…')}</p>\``,
    "log.warn('the store cannot be read');",
    "throw new Error('a bug of ours');",
    "import x from 'some module';",
    "type Word = 'to come' | 'not run';",
    "if (kind === 'not known') f();",
    "commands.executeCommand('setContext', 'banksman.page', true);",
    "const item = { description: 'execute_ssh' };",
    "const csp = `default-src 'none'; style-src x`;",
  ])('is not: %s', (source) => {
    expect(bareIn(source)).toEqual([]);
  });
});

describe('what something else said in English', () => {
  const rawIn = (source: string) => textsIn('a.ts', source).raw.map(({ text }) => text);

  it.each([
    ['notify.error(outcome.message);', 'outcome.message'],
    ["void notify.info(t('Not done: {0}', decision.reason));", 'decision.reason'],
    ["dialogs.tell('error', 'Banksman: ' + fault.message);", 'fault.message'],
    ['const f = ({ message }) => notify.warning(showPlainly(message, 500));', 'message'],
    ["async function f(x) { const { message, next } = toFault(x); await notify.error(message + '. '); }", 'message'],
  ])('is found where it is shown as it is: %s', (source, text) => {
    expect(rawIn(source)).toEqual([text]);
  });

  it.each([
    'notify.error(saidWords(outcome.message));',
    "notify.info(t('Not done: {0}', reasonWords(decision)));",
    "notify.info(t('Not done: {0}', faultTexts(fault).message));",
    'function f(x) { const { message, next } = faultTexts(x); notify.error(message + next); }',
    "function f(x) { const message = t('Done.'); notify.info(message); }",
    'log.warn(fault.message);',
  ])('is not where its words are looked up, or nobody reads them: %s', (source) => {
    expect(rawIn(source)).toEqual([]);
  });
});

describe('a call of `t`', () => {
  it.each([
    ['t(words)', 'one literal'],
    ["t('{0} of {1}', a)", 'differ'],
    ["t('{1}', a)", 'differ'],
    ["t('all', a)", 'differ'],
  ])('%s is a fault', (source, fault) => {
    expect(textsIn('a.ts', source).faults).toEqual([expect.stringContaining(fault)]);
  });
});

describe('the pages of the walkthrough', () => {
  const pages = readPages();
  const changed = (file: string, from: string, to: string) => new Map([...pages, [file, (pages.get(file) ?? '').replace(from, to)]]);

  it('are there in German', () => {
    expect(pages.size).toBeGreaterThan(10);
    expect(pageFaults(pages, readBundle())).toEqual([]);
  });

  it.each([
    ['a missing one', new Map([...pages].filter(([file]) => file !== 'ask.nls.de.md')), 'ask.nls.de.md: no such page'],
    ['a name that nothing has', changed('doctor.nls.de.md', 'Noch einmal prüfen', 'Nochmals'), 'no **Noch einmal prüfen**'],
    ['other blocks', changed('protect.nls.de.md', '103', '104'), 'other blocks'],
  ])('%s is a fault', (_what, wrong, fault) => {
    expect(pageFaults(wrong, readBundle())).toEqual([expect.stringContaining(fault)]);
  });
});

describe('the German texts', () => {
  const bundle = readBundle();

  it.each([
    ['a missing one', Object.fromEntries(Object.entries(bundle).filter(([text]) => text !== 'Deny')), 'has no "Deny"'],
    ['one that is left over', { ...bundle, 'Nobody says this.': 'Das sagt niemand.' }, 'what nothing shows'],
    ['other places', { ...bundle, 'Deny: {0}': 'Ablehnen' }, 'other places'],
  ])('%s is a fault', (_what, changed, fault) => {
    expect(textFaults(changed)).toEqual(expect.arrayContaining([expect.stringContaining(fault)]));
  });

  it('have another word for each button of the gate', () => {
    const english = Object.entries(buttons).flatMap(([name, value]) => (name.endsWith('Button') ? [String(value)] : []));
    expect(english.length).toBeGreaterThan(4);
    expect(new Set(english.map((text) => bundle[text])).size).toBe(english.length);
  });

  it('of the manifest are put together from the titles of tools', () => {
    expect(translated('Banksman: Get VMs', bundle)).toBe(`Banksman: ${bundle['Get VMs']}`);
    expect(translated('Stop VM…', bundle)).toBe(`${bundle['Stop VM']}…`);
    expect(translated('Nobody says this', bundle)).toBeUndefined();
  });
});

it('a text is shown in the language of the editor, and in English where it has none', () => {
  useTexts({ 'Deny: {0}': 'Ablehnen: {0}', 'Stop VM': 'VM stoppen' });
  try {
    expect(t('Deny: {0}', 'VM 100 {0} $&')).toBe('Ablehnen: VM 100 {0} $&');
    expect(t('No such text, {0} and {1}', 1)).toBe('No such text, 1 and {1}');
    expect(titleOf({ title: 'Stop VM' })).toBe('VM stoppen');
  } finally {
    useTexts(undefined);
  }
  expect(t('Deny: {0}', 1)).toBe('Deny: 1');
});
