import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '../../../../src/hosts/vscode');
/** `notify.ts` is the way; a modal shows plain text; the entry's words are fixed. */
const allowed = ['extension.ts', 'notify.ts', path.join('gate', 'window-dialogs.ts')];

it('nothing but `notify` shows a notification, for outside text in one would become a link to a command', () => {
  const files = globSync('**/*.ts', { cwd: root }).filter((file) => !allowed.includes(file));
  expect(files.length).toBeGreaterThan(20);
  const strays = files.filter((file) =>
    /window\.(?:show(?:Information|Warning|Error)Message|setStatusBarMessage)\b(?!\([^)]*modal: true)/.test(
      readFileSync(path.join(root, file), 'utf8'),
    ),
  );
  expect(strays).toEqual([]);
});
