import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { issueOneTimeCode, redeemOneTimeCode } from '#app/people/one-time-codes';

const purpose = { requestId: 'req-0123abcd', digest: 'a'.repeat(64) };
let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'banksman-codes-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const folder = () => join(state, 'one-time-codes');
const file = () => join(folder(), `${purpose.requestId}.json`);

describe('a code in the state directory', () => {
  it('is one private file without the code in it, good for ten minutes', async () => {
    const before = Date.now();
    const { code, expiresAt } = await issueOneTimeCode(state, purpose);
    expect(expiresAt - before).toBeGreaterThanOrEqual(600_000);
    expect(expiresAt - Date.now()).toBeLessThanOrEqual(600_000);
    expect([folder(), file()].map((place) => statSync(place).mode & 0o777)).toEqual([0o700, 0o600]);
    expect(readdirSync(folder())).toEqual([`${purpose.requestId}.json`]);
    expect(readFileSync(file(), 'utf8')).not.toContain(code.slice(4));
  });

  it('is used once, by one of many who try at the same time', async () => {
    const { code } = await issueOneTimeCode(state, purpose);
    const verdicts = await Promise.all(Array.from({ length: 12 }, () => redeemOneTimeCode(state, purpose, code)));
    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await redeemOneTimeCode(state, purpose, code)).toEqual({ ok: false, why: 'none' });
    expect(readdirSync(folder())).toEqual([]);
  });

  it('is void after five wrong ones, and replaced by the next', async () => {
    const first = await issueOneTimeCode(state, purpose);
    for (const triesLeft of [4, 3, 2, 1])
      expect(await redeemOneTimeCode(state, purpose, 'ott-00000000')).toEqual({ ok: false, why: 'wrong', triesLeft });
    const second = await issueOneTimeCode(state, purpose);
    expect(await redeemOneTimeCode(state, purpose, first.code)).toEqual({ ok: false, why: 'wrong', triesLeft: 4 });
    for (let more = 0; more < 3; more += 1) await redeemOneTimeCode(state, purpose, '');
    expect(await redeemOneTimeCode(state, purpose, `${second.code}x`)).toEqual({ ok: false, why: 'void' });
    expect(await redeemOneTimeCode(state, purpose, second.code)).toEqual({ ok: false, why: 'none' });
  });

  it('is for one request and what was on its card', async () => {
    const { code } = await issueOneTimeCode(state, purpose);
    expect(await redeemOneTimeCode(state, { ...purpose, requestId: 'req-ffffffff' }, code)).toEqual({ ok: false, why: 'none' });
    expect(await redeemOneTimeCode(state, { ...purpose, digest: 'b'.repeat(64) }, code)).toMatchObject({ why: 'wrong' });
    expect(await redeemOneTimeCode(state, purpose, code)).toEqual({ ok: true });
  });

  it.each([
    ['run out', (now: number) => now - 1],
    ['of a life longer than any', (now: number) => now + 3_600_000],
  ])('is worth nothing when it is %s', async (_, expiresAt) => {
    const { code } = await issueOneTimeCode(state, purpose);
    writeFileSync(file(), JSON.stringify({ ...(JSON.parse(readFileSync(file(), 'utf8')) as object), expiresAt: expiresAt(Date.now()) }));
    expect(await redeemOneTimeCode(state, purpose, code)).toEqual({ ok: false, why: 'expired' });
    expect(readdirSync(folder())).toEqual([]);
  });

  it.each(['', '{', '[]', '{"version":2}', 'null'])('that was overwritten with %j is none', async (text) => {
    const { code } = await issueOneTimeCode(state, purpose);
    writeFileSync(file(), text);
    expect(await redeemOneTimeCode(state, purpose, code)).toEqual({ ok: false, why: 'none' });
  });

  it('leaves nothing behind for ever: old ones go when the next is made', async () => {
    await issueOneTimeCode(state, purpose);
    writeFileSync(join(folder(), '.left-by-a-crash.taken'), '');
    const longAgo = new Date(Date.now() - 700_000);
    for (const name of readdirSync(folder())) utimesSync(join(folder(), name), longAgo, longAgo);
    await issueOneTimeCode(state, { ...purpose, requestId: 'req-00000001' });
    expect(readdirSync(folder())).toEqual(['req-00000001.json']);
  });

  it.each(['req-../../x', 'req-0123ABCD', '', '../req-0123abcd', 'req-0123abcd\0'])('is never filed under %j', async (requestId) => {
    await expect(issueOneTimeCode(state, { ...purpose, requestId })).rejects.toMatchObject({ code: 'bad_request_id' });
    await expect(redeemOneTimeCode(state, { ...purpose, requestId }, 'x')).rejects.toMatchObject({ code: 'bad_request_id' });
    expect(readdirSync(state)).toEqual([]);
  });

  it('says where it cannot be written', async () => {
    writeFileSync(folder(), 'a file in the way');
    await expect(issueOneTimeCode(state, purpose)).rejects.toMatchObject({
      code: 'codes_not_writable',
      message: expect.stringContaining(folder()),
    });
  });
});
