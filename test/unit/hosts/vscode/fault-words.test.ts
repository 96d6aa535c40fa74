import { afterEach, describe, expect, it } from 'vitest';
import { faultWords } from '#hosts/vscode/fault-words';
import { useTexts } from '#hosts/vscode/l10n';
import { Fault } from '#kernel/errors';
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
    expect(faultWords(new Fault('pve_500', 'VM 100 is locked (backup)'))).toBe('VM 100 is locked (backup)');
    expect(faultWords(new Fault('pve_500', 'at {0}'))).toBe('at {0}');
  });
});

it('a text of a failure without values is one that the check wants', () => {
  const source = "throw new Fault('a', 'the disk is full', { audience: 'user', next: 'make room' });\nnew Fault('b', words, { next });";
  expect(textsIn('a.ts', source).told.map(({ text }) => text)).toEqual(['the disk is full', 'make room']);
});
