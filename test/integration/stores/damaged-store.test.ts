/** One flipped bit, or one lost page: what is damaged is named, what is whole stays usable, and nothing is written over. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { openDamagedTrail } from '#stores/sqlite/open-damaged-trail';
import { draftBy, opened, openTestStore, temporaryFolder } from './store-fixtures.ts';

const records = 12;

/** A closed store whose records and requests can be told apart in the file's bytes. */
async function usedFile(count = records): Promise<string> {
  const file = join(temporaryFolder(), 'state', 'banksman.db');
  const store = await openTestStore({ file });
  for (let number = 1; number <= count; number += 1)
    await store.audit.append({ name: 'tool.started', attributes: { text: `mark-${number}-`.padEnd(300, 'x') } });
  await store.close();
  return file;
}

/** Flips one bit of a record, `offset` bytes before or behind a text that it alone holds, and of the copies that split pages leave behind. */
function flip(file: string, text: string, offset = 0, bit = 1): void {
  const bytes = readFileSync(file);
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at);
  expect(places.length).toBeGreaterThan(0);
  for (const at of places) bytes[at + offset] = (bytes[at + offset] ?? 0) ^ bit;
  writeFileSync(file, bytes);
}

describe('a record in which one bit is flipped', () => {
  it.each([
    ['in a text', 0, 1],
    ['so that it is no JSON any more', -2, 0x10],
    ['so that it is no text any more', 3, 0x80],
  ])('%s: is named; the others are read, and the trail goes on', async (_, offset, bit) => {
    const file = await usedFile();
    flip(file, 'mark-5-', offset, bit);
    const store = await openTestStore({ file });
    const verdict = await verifyTrail(store.audit);
    expect(verdict).toMatchObject({
      ok: false,
      broken: 5,
      records: records - 1,
      message: expect.stringMatching(/^record 5 .*; 11 of 12 records fit$/),
    });
    const others = (await store.audit.read(0, 100)).filter(({ sequence }) => sequence !== 5);
    expect(others.map(({ attributes }) => String(attributes['text']).split('-')[1])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '6',
      '7',
      '8',
      '9',
      '10',
      '11',
      '12',
    ]);
    const request = await opened(store);
    expect(await store.requests.get(request.id)).toEqual(request);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 5, records });
  });

  it('in its name, or in its number: is named', async () => {
    for (const [text, offset, bit] of [
      ['"sequence":5,', 11, 2],
      ['"sequence":7,', 11, 2],
    ] as const) {
      const file = await usedFile();
      flip(file, text, offset, bit);
      const store = await openTestStore({ file });
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: Number(text.slice(11, 12)), records: records - 1 });
    }
  });

  it('at the end of a page of reading: reading does not lose its way', async () => {
    const file = await usedFile(1_005);
    flip(file, '"sequence":1000,', 11, 8);
    const store = await openTestStore({ file });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 1000, records: 1_004 });
  });
});

describe('a request in which one bit is flipped', () => {
  it('is refused by its name; others are listed, asked and counted', async () => {
    const file = join(temporaryFolder(), 'state', 'banksman.db');
    const before = await openTestStore({ file });
    const hurt = await opened(before, { ...draftBy('mcp:one'), title: 'the-one-that-is-hurt' });
    const whole = await opened(before, draftBy('mcp:two'));
    await before.close();
    flip(file, '"title":"the-one-that-is-hurt', 7, 0x10);
    const store = await openTestStore({ file });
    await expect(store.requests.get(hurt.id)).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining(hurt.id) });
    expect(await store.requests.get(whole.id)).toEqual(whole);
    expect((await store.requests.list({ limit: 10 })).records.map(({ id }) => id)).toEqual([whole.id]);
    // The same agent asks for something else.
    expect(await opened(store, { ...draftBy('mcp:one'), digest: 'b'.repeat(64) })).toMatchObject({ status: 'pending' });
  });
});

describe('a page of the file that is lost', () => {
  /** Overwrites the page of the trail that holds a text. */
  function lose(file: string, text: string): void {
    const bytes = readFileSync(file);
    const page = Math.floor(bytes.indexOf(text) / 4096) * 4096;
    expect(page).toBeGreaterThan(0);
    writeFileSync(file, bytes.fill(0xa5, page, page + 4096));
  }

  it('is refused with the table that it belongs to and what to do; the file stays as it is', async () => {
    const file = await usedFile(200);
    lose(file, 'mark-100-');
    const before = readFileSync(file);
    await expect(openTestStore({ file })).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringMatching(/`audit`/),
      next: expect.stringMatching(/banksman audit verify.*keep a copy/),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('costs the records on it alone: verifying names them and reads the rest', async () => {
    const file = await usedFile(200);
    lose(file, 'mark-100-');
    const before = readFileSync(file);
    const damaged = await openDamagedTrail(file);
    const verdict = await verifyTrail(damaged.audit);
    damaged.close();
    expect(verdict.ok).toBe(false);
    expect(verdict.records).toBeGreaterThan(180);
    expect(verdict.flaws?.map(({ broken }) => broken)).toContain(100);
    expect(verdict.flaws?.every(({ message }) => message.includes('cannot be read'))).toBe(true);
    expect(damaged.damage).toMatch(/`audit`/);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('is told, too, where it is the head of the file', async () => {
    const file = await usedFile(20);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0, 100, 4096));
    await expect(openDamagedTrail(file)).rejects.toMatchObject({ code: 'store_corrupt' });
  });
});
