import { describe, expect, it } from 'vitest';
import { settingContributions } from '#hosts/vscode/contributes/settings';
import { createModalQueue } from '#hosts/vscode/gate/confirm-run';
import { inWords, useTexts } from '#hosts/vscode/l10n';
import {
  changeSetting,
  levelChange,
  levelWords,
  lifeInWords,
  resumption,
  ruleChange,
  ruleRemoval,
} from '#hosts/vscode/security/setting-changes';
import type { App, AutoApproveRule, SettingResult } from '#kernel/app';
import type { Signer } from '#kernel/approval/answer';
import { ask } from '#kernel/decision';
import { asIs, say } from '#kernel/text/message';
import { securityLevels } from '#kernel/tiers';
import { networkAtLevel } from '#policy/classify';
import { roughly } from '#tools/support/guest-facts';
import { ageWords } from '#tools/support/operation-facts';
import { readBundle } from '../../../../../scripts/l10n/translations.ts';
import { createApprover } from '../../../../integration/stores/store-fixtures.ts';
import { type Reaction, scriptedPerson } from '../gate/scripted-person.ts';

type Security = App['security'];

/** Signs what it is told to, as the real one does; `payload` is what it asks the signature for. */
function securityThat(payload: object, done: string[]): Security {
  const set = async (what: string, signer: Signer): Promise<SettingResult> => {
    await signer.sign(new TextEncoder().encode(JSON.stringify(payload)));
    done.push(what);
    return { ok: true, code: 'set', message: what };
  };
  return {
    level: async () => ({ level: 'balanced', from: 'configuration' }),
    rules: async () => [],
    onChange: () => () => {},
    setLevel: (level, signer) => set(`level ${level}`, signer),
    setRule: ({ pattern, action }, signer) => set(`rule ${pattern} ${action}`, signer),
    removeRule: async (pattern) => {
      done.push(`removed ${pattern}`);
      return { ok: true, code: 'removed', message: 'removed' };
    },
    pause: async (by) => {
      done.push(`paused by ${by}`);
      return { ok: true, code: 'set', message: 'paused' };
    },
    resume: (signer) => set('resumed', signer),
  };
}

async function relax(options: { readonly reactions: readonly Reaction[]; readonly trusted?: boolean; readonly payload?: object }) {
  const done: string[] = [];
  const approver = createApprover();
  const person = scriptedPerson({ reactions: options.reactions });
  const security = securityThat(options.payload ?? { version: 1, setting: 'security_level', level: 'relaxed' }, done);
  const changed = await changeSetting(levelChange(security, { level: 'balanced', from: 'configuration' }, 'relaxed'), {
    approvals: {
      isTrusted: async () => options.trusted ?? true,
      trust: async () => void done.push('pinned'),
    },
    confirm: { queue: createModalQueue(), dialogs: person.dialogs, now: person.now },
    signer: async () => approver.signer,
    configFile: '/home/alice/.config/banksman/config.json',
  });
  return { changed, done, person, approver };
}

describe('a change of the level', () => {
  it('is made after the modal, whose default keeps it as it is', async () => {
    const { changed, done, person } = await relax({ reactions: [{ press: 'Set to relaxed' }] });
    expect(changed).toBe(true);
    expect(done).toEqual(['level relaxed']);
    expect(person.questions[0]).toMatchObject({
      title: 'Set the security level to relaxed?',
      buttons: ['Keep balanced', 'Set to relaxed'],
      severity: 'warning',
    });
  });

  it.each([{}, { press: 'Keep balanced' }, { windowCloses: true }, { press: 'relaxed' }])('is not made on %j', async (reaction) => {
    const { changed, done } = await relax({ reactions: [reaction], trusted: false });
    expect(changed).toBe(false);
    expect(done).toEqual([]);
  });

  it('asks about a new key by itself, and pins it first', async () => {
    const { done, person, approver } = await relax({
      reactions: [{ press: 'Set to relaxed' }, { press: 'Trust This Key' }],
      trusted: false,
    });
    expect(done).toEqual(['pinned', 'level relaxed']);
    expect(person.questions[0]?.detail).not.toContain(approver.signer.publicKey);
    expect(person.questions[1]?.detail).toContain(approver.signer.publicKey);
  });

  it('is not made where the key is not trusted', async () => {
    const { changed, done } = await relax({ reactions: [{ press: 'Set to relaxed' }, {}], trusted: false });
    expect([changed, done]).toEqual([false, []]);
  });

  it.each([
    ['another level', { version: 1, setting: 'security_level', level: 'strict' }],
    ['a rule', { version: 1, setting: 'auto_approve', pattern: 'tool:run_command', action: 'allow' }],
    ['a grant', { version: 1, requestId: 'req-0123abcd', digest: 'ab'.repeat(32) }],
  ])('signs nothing but what was shown, not %s', async (_what, payload) => {
    const { changed, done, person } = await relax({ reactions: [{ press: 'Set to relaxed' }], payload });
    expect(changed).toBe(false);
    expect(done).toEqual([]);
    expect(person.told).toEqual([{ kind: 'error', message: expect.stringContaining('not what was shown') }]);
  });
});

it('who lets agents go on is told where somebody changed the store', () => {
  const pause = { by: 'user:bob', at: 1_800_000_000_000, reason: 'odd' };
  const question = (more: object) => resumption(securityThat({}, []), { ...pause, ...more }).question.detail;
  expect(question({ warning: 'it is no longer in the store\u202e' })).toContain('it is no longer in the store\\u{202e}');
  expect(question({})).not.toContain('store:');
});

it('rules are shown with what they do, and nothing in them reorders', () => {
  const security = securityThat({}, []);
  const added = ruleChange(security, { pattern: 'destination:.a\u202eb', action: 'allow', lifeMs: 86_400_000 });
  expect(added.question.title).toBe('Add the rule “destination:.a\\u{202e}b”: allow?');
  expect(added.question.detail).toContain('runs without asking, and is logged, for everyone on the same store, for 1 day');
  const rule: AutoApproveRule = { pattern: 'tool:run_command', action: 'block', by: 'user:bob', expiresAt: 0 };
  expect(ruleRemoval(security, rule).question).toMatchObject({ stay: 'Keep', proceed: 'Remove Rule' });
});

it.each([
  [3_600_000, '1 hour'],
  [8 * 3_600_000, '8 hours'],
  [86_400_000, '1 day'],
  [30 * 86_400_000, '30 days'],
])('%d ms is %s', (ms, words) => {
  expect(lifeInWords(ms)).toBe(words);
});

it('days stand in the case that their sentence wants', () => {
  useTexts(readBundle(), 'de');
  try {
    expect(lifeInWords(7 * 86_400_000)).toBe('7 Tage');
    expect(inWords(say`up for ${roughly(3 * 86_400)}`)).toBe('läuft seit 3 Tagen');
    expect(inWords(ageWords(0, 3 * 86_400_000))).toBe('vor 3 Tagen');
  } finally {
    useTexts(undefined);
  }
});

describe('the words of a level', () => {
  const words = { allow: /network: allowed, logged/, ask: /network: ask/, deny: /network: refused/ } as const;
  it.each(securityLevels)('%s say what it does to a command that wants the network, in the list and in the settings', (level) => {
    const { effect } = networkAtLevel(ask('network_blocked', asIs('it wants the network'), ['workspace.network']), level);
    expect(levelWords[level].network).toMatch(words[effect]);
    const { enumDescriptions = [] } = settingContributions()['banksman.securityLevel'] as { enumDescriptions?: string[] };
    const inSettings = enumDescriptions[securityLevels.indexOf(level)] ?? '';
    expect(inSettings).toMatch(/network/);
    expect(inSettings).toContain({ allow: 'allowed', ask: 'ask', deny: 'refused' }[effect]);
  });
});
