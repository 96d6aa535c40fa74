import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createOneTimeCodes } from '#app/people/one-time-codes';
import type { Store } from '#kernel/ports/store';
import { startChild } from '../../stores/child-process.ts';
import { openByName } from '../../stores/open-by-name.ts';
import { createFakeClock, openTestStore, temporaryFolder } from '../../stores/store-fixtures.ts';
import { startValkey } from '../../stores/valkey-server.ts';

const purpose = { requestId: 'req-0123abcd', digest: 'a'.repeat(64) };

function codesOf({ codes }: Store) {
  if (codes === undefined) throw new Error('this store keeps no codes');
  return createOneTimeCodes(codes);
}

async function bench() {
  const file = join(temporaryFolder(), 'banksman.db');
  const clock = createFakeClock();
  const store = await openTestStore({ file, clock });
  return { file, clock, codes: codesOf(store) };
}

describe('a code of a request', () => {
  it('is good for ten minutes, and no file has it in it', async () => {
    const { file, codes } = await bench();
    const { code, lifeMs } = await codes.issue(purpose);
    expect(lifeMs).toBe(600_000);
    for (const end of ['', '-wal']) expect(readFileSync(`${file}${end}`).includes(code.slice(4))).toBe(false);
    expect(await codes.redeem(purpose, code)).toEqual({ ok: true });
    expect(await codes.redeem(purpose, code)).toEqual({ ok: false, why: 'none' });
  });

  it('is void after five wrong ones, and replaced by the next', async () => {
    const { codes } = await bench();
    const first = await codes.issue(purpose);
    for (const triesLeft of [4, 3, 2, 1])
      expect(await codes.redeem(purpose, 'ott-00000000')).toEqual({ ok: false, why: 'wrong', triesLeft });
    const second = await codes.issue(purpose);
    expect(await codes.redeem(purpose, first.code)).toEqual({ ok: false, why: 'wrong', triesLeft: 4 });
    for (let more = 0; more < 3; more += 1) await codes.redeem(purpose, '');
    expect(await codes.redeem(purpose, `${second.code}x`)).toEqual({ ok: false, why: 'void' });
    expect(await codes.redeem(purpose, second.code)).toEqual({ ok: false, why: 'none' });
  });

  it('is for one request and what was on its card', async () => {
    const { codes } = await bench();
    const { code } = await codes.issue(purpose);
    expect(await codes.redeem({ ...purpose, requestId: 'req-ffffffff' }, code)).toEqual({ ok: false, why: 'none' });
    expect(await codes.redeem({ ...purpose, digest: 'b'.repeat(64) }, code)).toMatchObject({ why: 'wrong' });
    expect(await codes.redeem(purpose, code)).toEqual({ ok: true });
  });

  it.each([
    ['run out', 600_000],
    ['of a life longer than any, since the clock was put back', -120_000],
  ])('is worth nothing when it is %s', async (_, ms) => {
    const { codes, clock } = await bench();
    const { code } = await codes.issue(purpose);
    clock.advance(ms);
    expect(await codes.redeem(purpose, code)).toEqual({ ok: false, why: 'expired' });
    expect(await codes.redeem(purpose, code)).toEqual({ ok: false, why: 'none' });
  });

  it.each(['req-../../x', 'req-0123ABCD', '', '../req-0123abcd', 'req-0123abcd\0'])('is never kept under %j', async (requestId) => {
    const { codes } = await bench();
    await expect(codes.issue({ ...purpose, requestId })).rejects.toMatchObject({ code: 'bad_request_id' });
    await expect(codes.redeem({ ...purpose, requestId }, 'x')).rejects.toMatchObject({ code: 'bad_request_id' });
  });
});

// Every child is a Node of its own: slow to start where much else runs.
vi.setConfig({ testTimeout: 180_000 });

describe('two processes that try one code at the same moment', () => {
  async function winners(name: string): Promise<readonly number[]> {
    const codes = codesOf(await openByName(name));
    const children = [1, 2].map(() => startChild('redeem-code', [name]));
    await Promise.all(children.map((child) => child.line()));
    const won: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { code } = await codes.issue(purpose);
      for (const child of children) child.send(`${purpose.requestId} ${purpose.digest} ${code}`);
      const each = await Promise.all(children.map((child) => child.line()));
      won.push(each.map(Number).reduce((sum, count) => sum + count));
    }
    return won;
  }

  it('have one winner, on SQLite', async () => {
    expect(await winners(join(temporaryFolder(), 'banksman.db'))).toEqual([1, 1, 1]);
  });

  it('have one winner, on Valkey', async () => {
    const server = await startValkey();
    try {
      expect(await winners(server.url)).toEqual([1, 1, 1]);
    } finally {
      await server.close();
    }
  });
});
