import { afterEach, describe, expect, it } from 'vitest';
import { failedFinding, finding } from '#app/finding';
import { faultWords, findingTexts, outcomeWords } from '#hosts/vscode/fault-words';
import { useTexts } from '#hosts/vscode/l10n';
import { Fault, faultData, faultFrom, toFault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { textsIn } from '../../../../scripts/l10n/texts.ts';
import { readBundle } from '../../../../scripts/l10n/translations.ts';

afterEach(() => useTexts(undefined));

const noWorkspace = new Fault('no_workspace', 'there is no workspace', { next: 'open a folder, or set `workspace.root`' });

describe('what went wrong', () => {
  it('is told with what to do next, in the language of the editor', () => {
    expect(faultWords(noWorkspace)).toBe('there is no workspace. What to do: open a folder, or set `workspace.root`');
    useTexts(readBundle(), 'de');
    expect(faultWords(noWorkspace)).toBe(
      'es gibt keinen Arbeitsbereich. Was zu tun ist: öffnen Sie einen Ordner, oder setzen Sie `workspace.root`',
    );
  });

  it('stays in the words of who said it where no translation has them', () => {
    useTexts(readBundle(), 'de');
    expect(faultWords(new Fault('pve_500', 'VM 100 is locked (backup)'))).toMatch(/^VM 100 is locked \(backup\)\. Was zu tun ist: /);
    expect(faultWords(new Fault('pve_500', 'at {0}'))).toMatch(/^at \{0\}\. Was zu tun ist: /);
  });

  const full = new Fault('store_full', say`the store \`${'/s'}\` cannot grow: the disk is full`, {
    next: say`free some disk space and try again`,
  });

  it('is told with its values in the language of the editor, and to models and stores in English', () => {
    useTexts(readBundle(), 'de');
    expect([full.message, full.next]).toEqual(['the store `/s` cannot grow: the disk is full', 'free some disk space and try again']);
    expect(faultWords(full)).toBe(
      'der Speicher `/s` kann nicht wachsen: Die Platte ist voll. Was zu tun ist: schaffen Sie Platz auf der Platte, und versuchen Sie es noch einmal',
    );
    expect(faultWords(full.with({ effect: { state: 'not_sent' } }))).toBe(faultWords(full));
  });

  it('keeps its words on the way through a thread or a socket, and a service of an earlier version has none', () => {
    useTexts(readBundle(), 'de');
    const sent = JSON.parse(JSON.stringify(faultData(full))) as ReturnType<typeof faultData>;
    expect(faultWords(faultFrom(sent))).toBe(faultWords(full));
    const { words, ...old } = sent;
    expect(words).toBeDefined();
    expect(faultFrom(old).message).toBe(full.message);
  });

  it('has no words that say another thing in English than it does', () => {
    const forged = faultFrom({ ...faultData(full), words: { message: say`nothing was changed`, next: say`write it like ${'this'}` } });
    useTexts(readBundle(), 'de');
    expect(faultWords(forged)).toContain('the store `/s` cannot grow');
    expect(faultWords(forged)).toContain('free some disk space');
  });
});

describe('what Doctor found', () => {
  const found = finding('store', 'ok', say`${'/s'}: ${3} pending requests`, say`${'/s'} can be read by other users`);

  it('is told with its values in the language of the editor, and to programs in English', () => {
    expect([found.message, found.remedy]).toEqual(['/s: 3 pending requests', '/s can be read by other users']);
    useTexts(readBundle(), 'de');
    expect(findingTexts(found)).toEqual({ message: '/s: 3 offene Anfragen', remedy: '/s ist für andere Benutzer lesbar' });
    expect(findingTexts({ ...found, message: '/s: 4 pending requests' }).message).toBe('/s: 4 pending requests');
  });

  it('has the failure’s own words where one kept it from being looked at', () => {
    const failed = failedFinding('store', new Fault('store_full', say`the store \`${'/s'}\` cannot grow: the disk is full`));
    expect(failed).toMatchObject({ state: 'failed', message: 'store_full: the store `/s` cannot grow: the disk is full' });
    useTexts(readBundle(), 'de');
    expect(findingTexts(failed)).toEqual({ message: 'store_full: der Speicher `/s` kann nicht wachsen: Die Platte ist voll' });
  });
});

describe('a failure that does not know what to do next', () => {
  it.each([
    ['is tried again, where that helps', new Fault('a', 'too late', { retryable: true }), /try again/],
    ['is for who asked', new Fault('a', 'no such thing', { audience: 'user' }), /change it and try again/],
    ['is for the Doctor', new Fault('a', 'no answer'), /“Banksman: Doctor” looks/],
    ['is to be reported, where it is ours', toFault(new TypeError('x is undefined')), /report it/],
  ])('%s', (_case, fault, step) => {
    expect(faultWords(fault)).toMatch(/\. What to do: /);
    expect(faultWords(fault)).toMatch(step);
  });

  it('and a call that came to nothing names the page that has it', () => {
    expect(outcomeWords({ status: 'error', code: 'a', message: 'no' })).toBe(
      'no. What to do: “Banksman: Show Activity” has the call, with why it ended so',
    );
    expect(outcomeWords({ status: 'denied', code: 'a', message: 'no', next: 'ask less' })).toBe('no. What to do: ask less');
    expect(outcomeWords({ status: 'ok', code: 'ok', message: 'done' })).toBe('done');
  });
});

describe('the check of the texts of failures', () => {
  const found = (source: string) => textsIn('a.ts', source);

  it('wants a text with values to be a message', () => {
    const { mute } = found(`const why = \`\${file} is gone\`;\nnew Fault('a', why, { next: isOld ? \`remove \${file}\` : 'look' });`);
    expect(mute.map(({ text }) => text)).toEqual(['{0} is gone', 'remove {0}']);
    expect(found(`new Fault('a', say\`\${file} is gone\`)`).mute).toEqual([]);
  });

  it('follows a constant and a choice to the words', () => {
    const { told } = found("const next = 'make room';\nnew Fault('a', isFull ? 'it is full' : 'it is shut', { next });");
    expect(told.map(({ text }) => text)).toEqual(['it is full', 'it is shut', 'make room']);
  });
});

it('a text of a failure without values is one that the check wants', () => {
  const source = "throw new Fault('a', 'the disk is full', { audience: 'user', next: 'make room' });\nnew Fault('b', words, { next });";
  expect(textsIn('a.ts', source).told.map(({ text }) => text)).toEqual(['the disk is full', 'make room']);
});
