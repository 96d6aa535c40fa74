/** Any writes and edits, undone from the last to the first, leave what was there: bytes, modes, times. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { snapshot } from '../../integration/effects/support/effects-bench.ts';
import { openFilesBench } from '../../integration/effects/support/files-bench.ts';

const paths = ['a', 'b.txt', 'd/a', 'd/b', 'd/e/f', 'link', 'new/x', 'new/deep/y', 'new/deep/z'];
const texts = ['', 'one\n', 'one\r\ntwo\r\n', '\ufeffone', 'one é', 'x'.repeat(5_000)];
const place = fc.constantFrom(...paths);
const act = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), path: place, text: fc.constantFrom(...texts) }),
  fc.record({
    kind: fc.constant('edit' as const),
    path: place,
    from: fc.constantFrom('one', 'two', 'x'),
    to: fc.constantFrom('1', 'é', ''),
  }),
);
const fixture = fc.record({
  files: fc.dictionary(fc.constantFrom('a', 'b.txt', 'd/a', 'd/e/f'), fc.constantFrom(...texts)),
  mode: fc.constantFrom(0o600, 0o644, 0o755, 0o444),
  time: fc.integer({ min: 1, max: 2_000_000_000 }),
});

const scope = { agentId: 'cli:test' };

it('undo in reverse is the identity', { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fixture, fc.array(act, { minLength: 1, maxLength: 8 }), async ({ files, mode, time }, acts) => {
      const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'banksman-undo-')));
      try {
        const bench = openFilesBench(base);
        const at = (name: string) => path.join(bench.workspace, name);
        mkdirSync(at('d/e'), { recursive: true });
        symlinkSync('d/a', at('link'));
        for (const [name, text] of Object.entries(files)) {
          writeFileSync(at(name), text);
          chmodSync(at(name), mode);
          utimesSync(at(name), time, time);
        }
        const before = snapshot(bench.workspace, { inodes: true });
        const runs: string[] = [];
        for (const step of acts) {
          const expected = step.kind === 'write' ? step.text : editedText(at(step.path), step.from, step.to);
          const done = await doAct(bench, step);
          // An edit that does not fit changes nothing.
          expect(done === undefined, JSON.stringify(step)).toBe(expected === undefined);
          if (done !== undefined) runs.push(done);
          expect(expected === undefined ? undefined : readFileSync(at(step.path), 'utf8')).toBe(expected);
        }
        for (const run of runs.toReversed()) await bench.effects.undo(run, { force: false });
        expect(snapshot(bench.workspace, { inodes: true })).toEqual(before);
      } finally {
        rmSync(base, { recursive: true });
      }
    }),
    { numRuns: 40 },
  );
});

async function doAct({ files }: ReturnType<typeof openFilesBench>, step: typeof act extends fc.Arbitrary<infer A> ? A : never) {
  if (step.kind === 'write') return (await files.write(step.path, step.text, { createDirs: true }, scope)).runId;
  const edits = [{ old_text: step.from, new_text: step.to }];
  return files.edit(step.path, edits, {}, scope).then(
    ({ runId }) => runId,
    () => undefined,
  );
}

/** undefined where the old text is not there once. */
function editedText(file: string, from: string, to: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const parts = readFileSync(file, 'utf8').split(from);
  return parts.length === 2 ? parts.join(to) : undefined;
}
