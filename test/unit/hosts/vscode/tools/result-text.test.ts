import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxResultLength, resultText } from '#hosts/vscode/tools/chat-words';
import type { JsonObject, JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';

const ok = (result: JsonValue): Outcome => ({ status: 'ok', code: 'ok', message: 'done', result });
const rows = (count: number) =>
  Array.from({ length: count }, (_, vmid) => ({ vmid: 100 + vmid, name: `guest-${vmid}`, status: 'running' }));

describe('a short result', () => {
  it('is one line and the outcome as JSON', () => {
    const outcome = ok({ vms: rows(2) });
    const { summary, json } = resultText(outcome);
    expect(summary).toBe('done\n');
    expect(JSON.parse(json)).toEqual(outcome);
  });

  it('says first what a refusal means and what to do next', () => {
    const { summary, json } = resultText({
      status: 'pending',
      code: 'approval_pending',
      message: 'Stop VM 100:\nwaiting',
      request_id: 'req-0123abcd',
      next: 'call check_request_status',
    });
    expect(summary).toBe('PENDING (approval_pending): Stop VM 100: waiting. Request req-0123abcd. Next: call check_request_status\n');
    expect(JSON.parse(json)).toMatchObject({ status: 'pending', request_id: 'req-0123abcd' });
  });
});

describe('a long result', () => {
  it.each([(list: JsonValue) => list, (list: JsonValue) => ({ total: 500, vms: list })])(
    'keeps whole rows and says how many there were',
    (wrap) => {
      const { json } = resultText(ok(wrap(rows(500))));
      const parsed = JSON.parse(json) as { cut: string; result: JsonObject | JsonValue[] };
      const kept = (Array.isArray(parsed.result) ? parsed.result : parsed.result.vms) as JsonValue[];
      expect(kept.length).toBeGreaterThan(50);
      expect(kept).toEqual(rows(kept.length));
      expect(parsed.cut).toContain(`first ${kept.length} of 500 rows`);
      // One more row would not have fitted.
      expect(json.length + JSON.stringify(rows(500)[kept.length]).length + 1).toBeGreaterThan(maxResultLength - 'done\n'.length - 1);
    },
  );

  it('keeps status and request when even no row fits', () => {
    const { json } = resultText({
      status: 'error',
      code: 'x',
      message: 'm',
      request_id: 'req-0123abcd',
      result: { output: 'y'.repeat(20_000) },
    });
    expect(json).toMatch(/^\{"status":"error","code":"x","request_id":"req-0123abcd"/);
    expect(json).toMatch(/\n\[cut: 20\d{3} characters in all; the JSON above is not complete\]$/);
  });
});

/** As long as `most` characters, made of a few: what is cut is decided by the length, and thousands of drawn characters take seconds. */
function longText(most: number): fc.Arbitrary<string> {
  return fc
    .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), fc.nat(most), fc.string({ unit: 'binary', maxLength: 20 }))
    .map(([piece, length, end]) => piece.repeat(Math.ceil(length / piece.length)) + end);
}

it('never exceeds what the chat takes, whatever the outcome', () => {
  const arbitrary = fc.record(
    {
      status: fc.constantFrom('ok', 'denied', 'pending', 'error'),
      code: fc.string({ maxLength: 50 }),
      message: longText(12_000),
      next: longText(3000),
      result: fc.oneof(
        fc
          .tuple(fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 8 }), fc.nat(50))
          .map(([few, times]) => Array(times).fill(few).flat()),
        fc.jsonValue(),
        longText(9000),
      ),
    },
    { requiredKeys: ['status', 'code', 'message'] },
  );
  fc.assert(
    fc.property(arbitrary, (outcome) => {
      const { summary, json } = resultText(outcome);
      expect(summary.length + json.length).toBeLessThanOrEqual(maxResultLength);
      expect(summary).toMatch(/^[^\n]*\n$/);
    }),
    { numRuns: 100 },
  );
});

it('cuts no surrogate pair in two', () => {
  for (const length of [1997, 1998, 1999, 2000, 2001])
    expect(resultText({ status: 'ok', code: 'ok', message: `${'a'.repeat(length)}${'😀'.repeat(20)}` }).summary.isWellFormed()).toBe(true);
});
