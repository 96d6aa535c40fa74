/** Saving edited settings: dialog by dialog, and no further than the person goes. */
import { describe, expect, it } from 'vitest';
import { createModalQueue } from '#hosts/vscode/gate/confirm-run';
import { saveSettings } from '#hosts/vscode/policy/save-settings';
import type { App } from '#kernel/app';
import type { Signer } from '#kernel/approval/answer';
import type { JsonObject } from '#kernel/json';
import type { ReplayReport } from '#kernel/policy-view';
import { createApprover } from '../../../../integration/stores/store-fixtures.ts';
import { type Reaction, scriptedPerson } from '../gate/scripted-person.ts';

const before: JsonObject = {
  securityLevel: 'balanced',
  tiers: { stop_vm: 'red' },
  autoApprove: [{ pattern: 'tool:wake_node', action: 'block' }],
};
const after: JsonObject = {
  securityLevel: 'strict',
  tiers: { stop_vm: 'red', execute_ssh: 'red' },
  workspace: { requireSandbox: true },
  autoApprove: [{ pattern: 'tool:get_vms', action: 'prompt' }],
};
const all = ['tiers', 'workspace.requireSandbox', 'securityLevel', 'autoApprove'];

interface Saved {
  readonly reactions: readonly Reaction[];
  readonly differs?: readonly string[];
  readonly loosens?: readonly string[];
  /** What counts at each look; the last one stays. */
  readonly counting?: readonly JsonObject[];
}

async function save({ reactions, differs = all, loosens = [], counting = [before] }: Saved) {
  const done: string[] = [];
  let looks = 0;
  const person = scriptedPerson({ reactions });
  const signed = (payload: JsonObject, what: string) => async (_value: unknown, signer: Signer) => {
    await signer.sign(new TextEncoder().encode(JSON.stringify(payload)));
    done.push(what);
    return { ok: true, code: 'set', message: what };
  };
  const app = {
    policy: { settings: async () => counting[Math.min(looks++, counting.length - 1)] },
    approvals: { isTrusted: async () => true, trust: async () => undefined },
    security: {
      level: async () => ({ level: 'balanced', from: 'configuration' }),
      rules: async () => [{ pattern: 'tool:wake_node', action: 'block', by: 'user:bob', expiresAt: 0 }],
      setLevel: signed({ version: 1, setting: 'security_level', level: 'strict' }, 'level'),
      setRule: signed({ version: 1, setting: 'auto_approve', pattern: 'tool:get_vms', action: 'prompt' }, 'rule'),
      removeRule: signed({ version: 1, setting: 'auto_approve_removed', pattern: 'tool:wake_node' }, 'no rule'),
    },
  } as unknown as App;
  const report = { differs, loosens, judged: 3, changed: 1, looser: 0, tighter: 1 } as unknown as ReplayReport;
  const saved = await saveSettings(
    { before, after, report },
    {
      session: { use: (work) => work(app), reload: () => void done.push('reload') },
      written: {
        read: (key) => (key === 'workspace' ? { root: '/srv', requireSandbox: false } : undefined),
        write: async (key, value) => void done.push(`${key} ${JSON.stringify(value)}`),
        agree: async () => void done.push('agree'),
      },
      confirm: { queue: createModalQueue(), dialogs: person.dialogs, now: person.now },
      signer: async () => createApprover().signer,
      configFile: '/home/alice/.config/banksman/config.json',
    },
  );
  return { saved, done, titles: person.questions.map(({ title }) => title), first: person.questions[0]?.detail ?? '' };
}

const [yes, level, rule, removal] = [{ press: 'Save' }, { press: 'Set to strict' }, { press: 'Add Rule' }, { press: 'Remove Rule' }];

describe('saving edited settings', () => {
  it('writes keys, signs level and rules, each after a dialog of its own', async () => {
    const { saved, done, titles, first } = await save({ reactions: [yes, level, rule, removal] });
    expect(titles).toHaveLength(4);
    expect(first).toContain('banksman.tiers, banksman.workspace');
    expect(done).toEqual([
      'tiers {"stop_vm":"red","execute_ssh":"red"}',
      'workspace {"root":"/srv","requireSandbox":true}',
      'level',
      'rule',
      'no rule',
    ]);
    expect(saved).toBe('saved');
  });

  it('asks about what is looser by the new settings', async () => {
    const { done, first } = await save({ reactions: [yes], differs: ['tiers'], loosens: ['`execute_ssh` runs\u202e unasked'] });
    expect(first).toContain('· `execute_ssh` runs\\u{202e} unasked');
    expect(done.slice(-2)).toEqual(['reload', 'agree']);
  });

  it('ends where the person refuses, and asks about nothing after that', async () => {
    const none = await save({ reactions: [{ press: 'Keep the Old Values' }] });
    expect([none.saved, none.titles.length, none.done]).toEqual(['kept', 1, []]);
    const part = await save({ reactions: [yes, { press: 'Keep balanced' }] });
    expect([part.saved, part.titles.length, part.done.length]).toEqual(['saved', 2, 2]);
    const rules = await save({ reactions: [{}], differs: ['autoApprove'] });
    expect([rules.saved, rules.titles.length, rules.done]).toEqual(['kept', 1, []]);
  });

  it.each([
    ['before it asks', [{ ...before, tiers: {} }], 0],
    ['while its dialog is open', [before, { ...before, protected: { guests: [100] } }], 1],
  ])('writes nothing over settings that were changed elsewhere %s', async (_when, counting, asked) => {
    const { saved, done, titles } = await save({ reactions: [yes], counting });
    expect([saved, titles.length, done]).toEqual(['elsewhere', asked, []]);
  });
});
