import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '../../../../src/hosts/vscode');
/** `notify.ts` is the way; a modal shows plain text; the entry's words are fixed. */
const allowed = ['extension.ts', 'notify.ts', path.join('gate', 'window-dialogs.ts')];

const sources = () => globSync('**/*.ts', { cwd: root }).map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));

it('what an input box says below it is plain, for the editor makes `[words](command:…)` there a link that runs a command, too', () => {
  const said = sources().flatMap(({ text }) => [...text.matchAll(/\.validationMessage = ([^;]+);/g)].map(([, value = '']) => value));
  expect(said.length).toBeGreaterThan(2);
  expect(said.filter((value) => !value.startsWith('plainly('))).toEqual([]);
});

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
