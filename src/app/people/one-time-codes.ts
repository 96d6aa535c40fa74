/** One-time codes of an App: they are kept in its store, so whoever shares that may show a request's card here and approve it there. */
import {
  hashOneTimeCode,
  isOneTimeCode,
  makeOneTimeCode,
  mostWrongCodes,
  oneTimeCodeLifeMs,
  oneTimeCodePattern,
} from '#approval/one-time-code';
import type { CodePurpose, CodeVerdict, OneTimeCodes } from '#kernel/approval/one-time-codes';
import { requestIdPattern } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { CodeStore, StoredCode } from '#kernel/ports/code-store';

export function createOneTimeCodes(store: CodeStore): OneTimeCodes {
  return {
    issue: async (purpose) => {
      requireId(purpose);
      const code = makeOneTimeCode();
      await store.put(purpose.requestId, await hashOneTimeCode(code, purpose), oneTimeCodeLifeMs);
      return { code, lifeMs: oneTimeCodeLifeMs };
    },
    redeem: async (purpose, code) => {
      requireId(purpose);
      const taken = await store.take(purpose.requestId);
      if (taken === undefined) return { ok: false, why: 'none' };
      const verdict = await judge(taken, purpose, code);
      // A code that was shown meanwhile stands; this one is gone then.
      if (!verdict.ok && verdict.why === 'wrong')
        await store.putBack(purpose.requestId, { ...taken.code, wrong: taken.code.wrong + 1 }, taken.leftMs);
      return verdict;
    },
  };
}

/** In ms. */
const apartMs = 60_000;

async function judge(
  { code: stored, leftMs }: { readonly code: StoredCode; readonly leftMs: number },
  purpose: CodePurpose,
  code: string,
): Promise<CodeVerdict> {
  // Much more than a whole life was not written by this program, or the clock was put back. Two processes read a shared store's clock a little apart.
  if (leftMs < 1 || leftMs > oneTimeCodeLifeMs + apartMs) return { ok: false, why: 'expired' };
  if (oneTimeCodePattern.test(code) && (await isOneTimeCode(code, stored, purpose))) return { ok: true };
  const triesLeft = mostWrongCodes - stored.wrong - 1;
  return triesLeft <= 0 ? { ok: false, why: 'void' } : { ok: false, why: 'wrong', triesLeft };
}

/** INVARIANT: an id becomes part of a key only after it was checked. */
function requireId({ requestId }: CodePurpose): void {
  if (!requestIdPattern.test(requestId))
    throw new Fault('bad_request_id', 'a request’s id is `req-` and 8 hex digits', { audience: 'user' });
}
