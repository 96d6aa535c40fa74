import * as z from 'zod';
import type { applyHeldTool } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import type { HeldResource, Target } from '#kernel/resource';
import { joined, plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { defineTool } from '#kernel/tool';
import { changesOf } from '../support/changes.ts';

export const applyHeld = defineTool({
  name: 'apply_held' satisfies typeof applyHeldTool,
  title: 'Apply held changes',
  description: 'Applies changes that were held for a person, once that person has approved them.',
  group: 'workspace',
  tier: 'red',
  impact: 'reversible',
  // Whoever could make the changes may have them applied: a person decides.
  permission: 'data:read',
  internal: true,
  impactOf: (targets) => (heldOf(targets)?.lost === true ? 'irreversible' : 'reversible'),
  input: z.strictObject({ held: z.string().regex(/^[a-z0-9-]{1,60}$/) }),
  touches: ({ held }) => [{ kind: 'held', access: 'operate', id: held }],
  headline: ({ held }, targets) => {
    const { changes = [], more = 0 } = heldOf(targets) ?? {};
    const named = changes.slice(0, 3).map(({ path }) => showPlainly(path, 80));
    const others = changes.length - named.length + more;
    if (changes.length === 0) return say`Apply the held changes ${held}`;
    const all = changes.length + more;
    const names = others > 0 ? say`${joined(named)} and ${others} more` : joined(named);
    return plural(all, say`Apply 1 held change: ${names}`, say`Apply ${all} held changes: ${names}`);
  },
  preview: async (_input, { targets }) =>
    heldOf(targets)?.lost === true
      ? [say`More goes than the journal keeps, so it cannot be undone.`]
      : [say`Exactly these changes are applied, all or none.`],
  run: async (_input, context) => {
    const held = heldOf(context.targets);
    const history = await context.workspace().runner.history?.();
    if (held?.digest === undefined || history === undefined)
      throw new Fault('held_gone', 'what was held is no longer kept', { audience: 'user', effect: notSent });
    context.noteEffect({ state: 'sent', what: 'all of the held changes were applied, or none', next: 'look whether they are there' });
    const effects = await history.applyHeld(held.id, held.digest);
    return { ok: true, message: 'the held changes were applied', result: { changes: changesOf(effects) } };
  },
});

function heldOf(targets: readonly Target[]): HeldResource | undefined {
  return targets.find((target): target is HeldResource => target.kind === 'held');
}
