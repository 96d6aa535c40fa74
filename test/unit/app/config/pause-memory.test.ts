import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPauseMemory } from '#app/config/pause-memory';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(path.join(tmpdir(), 'banksman-pauses-'));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const memoryOf = () => createPauseMemory({ stateDir, location: '/store.db' }) ?? expect.unreachable();
const open = { by: 'anna', at: 1_000 };

describe('what was seen of pauses', () => {
  it('is nothing at first, and then what was written last, by whatever process', async () => {
    const [one, other] = [memoryOf(), memoryOf()];
    expect(await one.read()).toEqual({});
    await other.write({ open });
    expect(await one.read()).toEqual({ open });
    await other.write({ lifted: 1_000 });
    expect(await one.read()).toEqual({ lifted: 1_000 });
    expect(readdirSync(path.join(stateDir, 'pauses'))).toHaveLength(1);
  });

  it('is read again where it was changed in place, its time set back', async () => {
    const memory = memoryOf();
    await memory.write({ open });
    utimesSync(memory.place, 1_000, 1_000);
    await memory.read();
    writeFileSync(memory.place, readFileSync(memory.place, 'utf8').replace('anna', 'otto'));
    utimesSync(memory.place, 1_000, 1_000);
    expect(await memory.read()).toEqual({ open: { ...open, by: 'otto' } });
  });

  it('is not read through a link, nor where it is damaged, also after it was read', async () => {
    const memory = memoryOf();
    await memory.write({ open });
    expect(await memory.read()).toEqual({ open });
    writeFileSync(memory.place, '{}, ');
    await expect(memory.read()).rejects.toThrow(SyntaxError);
    rmSync(memory.place);
    expect(await memory.read()).toEqual({});
    const elsewhere = path.join(stateDir, 'elsewhere.json');
    writeFileSync(elsewhere, '{}', { mode: 0o600 });
    symlinkSync(elsewhere, memory.place);
    await expect(memory.read()).rejects.toThrow('is a link');
    rmSync(elsewhere);
    await expect(memory.read()).rejects.toThrow('is a link');
  });
});
