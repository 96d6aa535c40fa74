import { mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { keepText } from '#app/config/private-file';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'banksman-kept-'));
  file = path.join(folder, 'token');
  writeFileSync(file, 'one');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As if the file had been left alone for an hour. */
const later = () => Date.now() + 3_600_000;
/** Says something else at each reading, and looks the same all the time. */
const restless = '/proc/sys/kernel/random/uuid';

it.skipIf(process.platform !== 'linux')('reads once what looks the same', async () => {
  const kept = keepText(restless, later);
  const first = await kept.read();
  expect(first).toMatch(/^[0-9a-f-]{36}\n$/);
  expect(await kept.read()).toBe(first);
  expect(await keepText(restless, later).read()).not.toBe(first);
});

it.skipIf(process.platform !== 'linux')('reads again what had just changed: it may do so once more within the same tick', async () => {
  const kept = keepText(restless, () => statSync(restless).ctimeMs);
  expect(await kept.read()).not.toBe(await kept.read());
});

it('sees another text', async () => {
  const kept = keepText(file, later);
  expect(await kept.read()).toBe('one');
  writeFileSync(file, 'three');
  expect(await kept.read()).toBe('three');
});

it('sees a file of the same size and time that takes its place', async () => {
  const kept = keepText(file, later);
  expect(await kept.read()).toBe('one');
  const { atime, mtime } = statSync(file);
  const other = path.join(folder, 'other');
  writeFileSync(other, 'two');
  utimesSync(other, atime, mtime);
  renameSync(other, file);
  expect(await kept.read()).toBe('two');
});

it('has no answer for a file that is gone, also where it had one before', async () => {
  const kept = keepText(file, later);
  await kept.read();
  rmSync(file);
  await expect(kept.read()).rejects.toMatchObject({ code: 'ENOENT' });
  writeFileSync(file, 'new');
  expect(await kept.read()).toBe('new');
});
