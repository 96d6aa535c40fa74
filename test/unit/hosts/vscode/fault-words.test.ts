import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { faultWords } from '#hosts/vscode/fault-words';
import { Fault } from '#kernel/errors';

it('says what to do next, where the fault knows it', () => {
  expect(faultWords(new Fault('no_store', 'the store cannot be opened', { next: 'look at `banksman.store`' }))).toBe(
    'the store cannot be opened. What to do: look at `banksman.store`',
  );
  expect(faultWords(new Error('a bug'))).not.toContain('What to do');
});

it('no error that a person is told leaves that out', () => {
  const root = path.join(import.meta.dirname, '../../../../src/hosts/vscode');
  const told = /(?:notify\.error|tell\('error'|offerLog\('error').*toFault\(\w+\)\.message/;
  const files = globSync('**/*.ts', { cwd: root });
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => told.test(readFileSync(path.join(root, file), 'utf8')))).toEqual([]);
});
