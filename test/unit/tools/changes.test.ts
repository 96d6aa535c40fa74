import { describe, expect, it } from 'vitest';
import type { LeftOut, RunEffects } from '#kernel/effects';
import { adviceOnLeftOut, effectsWords } from '#tools/support/changes';

const device: LeftOut = { path: 'dev', kind: 'create', reason: 'refused', rule: 'special.device', why: 'a device is no file of a project' };
const held: LeftOut = { path: '.vscode/', kind: 'create', reason: 'held', rule: 'control', why: 'an editor runs or obeys it' };
const effects = (more: Partial<RunEffects>): RunEffects => ({
  created: [],
  changed: [],
  deleted: [],
  leftOut: [],
  dropped: false,
  ...more,
});

describe('what a model is told of a run of which a part was refused', () => {
  it('says that nobody is asked about that part, and that all else is applied', () => {
    const some = effects({ runId: 'r', created: ['a'], leftOut: [device] });
    expect(effectsWords(some)).toBe(
      '; 1 created; not applied: `dev` (refused, and nobody is asked: a device is no file of a project); all else is applied',
    );
    expect(adviceOnLeftOut(some)).toEqual(['go on without what was refused: it is not there, and another try is refused too']);
  });

  it('says what git makes of it where the index is applied and may name what is not', () => {
    const checkout = effects({ runId: 'r', changed: ['.git/index', 'a'], leftOut: [device] });
    expect(adviceOnLeftOut(checkout).join()).toContain('`git status` may show it as deleted: do not commit that');
  });

  it('says nothing of the sort of what a person is asked about, or where nothing was applied', () => {
    expect(effectsWords(effects({ leftOut: [device] }))).toBe(
      '; not applied: `dev` (refused, and nobody is asked: a device is no file of a project)',
    );
    expect(effectsWords(effects({ runId: 'r', created: ['a'], leftOut: [held] }))).toBe(
      '; 1 created; not applied: `.vscode/` (an editor runs or obeys it); all else is applied',
    );
    expect(adviceOnLeftOut(effects({ leftOut: [held], heldId: 'h' }))).toEqual([]);
  });
});
