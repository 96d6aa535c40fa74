import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkMcpToken, createMcpToken, isMcpTokenLive, listMcpTokens, revokeMcpToken } from '../../../../src/app/people/mcp-tokens.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(path.join(tmpdir(), 'banksman-tokens-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const draft = { name: 'laptop', modelTier: 'basic', lifeMs: 60_000 } as const;

describe('tokens', () => {
  it('let in who holds one, with its name and ceiling', async () => {
    const { token, entry } = await createMcpToken(state, draft);
    expect(token).toMatch(/^bkm\.laptop\.[A-Za-z0-9_-]{43}$/);
    expect(await checkMcpToken(state, token)).toEqual(entry);
    expect(entry).toMatchObject({ name: 'laptop', modelTier: 'basic' });
  });

  it.each(['', 'bkm.laptop.', 'laptop', `bkm.laptop.${'A'.repeat(43)}`, `bkm.other.${'A'.repeat(43)}`, `bkm.../../x.${'A'.repeat(43)}`])(
    'refuse `%s`',
    async (presented) => {
      await createMcpToken(state, draft);
      expect(await checkMcpToken(state, presented)).toBeUndefined();
    },
  );

  it('refuse one of a byte more, less or another', async () => {
    const { token } = await createMcpToken(state, draft);
    const last = token.at(-1) === 'A' ? 'B' : 'A';
    for (const wrong of [`${token}A`, token.slice(0, -1), token.slice(0, -1) + last, token.toUpperCase(), ` ${token}`]) {
      expect(await checkMcpToken(state, wrong)).toBeUndefined();
    }
  });

  it('expire', async () => {
    const { token, entry } = await createMcpToken(state, { ...draft, lifeMs: -1 });
    expect(await checkMcpToken(state, token)).toBeUndefined();
    expect(await isMcpTokenLive(state, entry)).toBe(false);
    const forever = await createMcpToken(state, { ...draft, name: 'forever', lifeMs: null });
    expect(await checkMcpToken(state, forever.token)).toEqual({ ...forever.entry, expiresAt: null });
  });

  it('are revoked at once; made again under the same name they are others', async () => {
    const { token, entry } = await createMcpToken(state, draft);
    expect(await revokeMcpToken(state, 'laptop')).toBe(true);
    expect(await revokeMcpToken(state, 'laptop')).toBe(false);
    expect(await checkMcpToken(state, token)).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 2));
    const again = await createMcpToken(state, draft);
    expect(await checkMcpToken(state, token)).toBeUndefined();
    expect(await checkMcpToken(state, again.token)).toEqual(again.entry);
    expect(await isMcpTokenLive(state, entry)).toBe(false);
  });

  it('of one name there is one, however many make it at once', async () => {
    const made = await Promise.allSettled(Array.from({ length: 10 }, () => createMcpToken(state, draft)));
    const won = made.filter((each) => each.status === 'fulfilled');
    expect(won).toHaveLength(1);
    expect(await checkMcpToken(state, won[0]!.value.token)).toBeDefined();
    expect(made.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 'token_exists' });
    expect(readdirSync(path.join(state, 'mcp-tokens'))).toEqual(['laptop.json']);
  });

  it.each(['', 'A', '../x', 'a/b', 'a.b', 'x'.repeat(64), '-a', 'ä', 'a b'])('cannot be named `%s`', async (name) => {
    await expect(createMcpToken(state, { ...draft, name })).rejects.toMatchObject({ code: 'bad_token_name' });
    await expect(revokeMcpToken(state, name)).rejects.toMatchObject({ code: 'bad_token_name' });
  });

  it('lie hashed in files of their own', async () => {
    const { token } = await createMcpToken(state, draft);
    const text = readFileSync(path.join(state, 'mcp-tokens', 'laptop.json'), 'utf8');
    expect(text).not.toContain(token.split('.')[2]);
    expect(JSON.parse(text)).toMatchObject({ hash: expect.stringMatching(/^[a-f0-9]{64}$/) });
  });

  it('a file that was changed, renamed or broken lets nobody in, and is named', async () => {
    const { token } = await createMcpToken(state, draft);
    const folder = path.join(state, 'mcp-tokens');
    const file = path.join(folder, 'laptop.json');
    const text = readFileSync(file, 'utf8');
    writeFileSync(path.join(folder, 'other.json'), text);
    for (const broken of ['', '{}', text.replace('"basic"', '"root"'), text.replace('"version": 1', '"version": 2')]) {
      writeFileSync(file, broken);
      expect(await checkMcpToken(state, token)).toBeUndefined();
    }
    expect(await listMcpTokens(state)).toEqual({ tokens: [], unreadable: [file, path.join(folder, 'other.json')] });
  });

  it('without a folder there are none', async () => {
    expect(await listMcpTokens(path.join(state, 'nowhere'))).toEqual({ tokens: [], unreadable: [] });
  });

  it.skipIf(process.getuid?.() === 0)('a folder that cannot be written says so', async () => {
    chmodSync(state, 0o500);
    await expect(createMcpToken(state, draft)).rejects.toMatchObject({ code: 'tokens_not_writable' });
    chmodSync(state, 0o700);
  });
});
