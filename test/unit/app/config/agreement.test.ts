import { mkdtempSync, readFileSync, rmSync, unwatchFile, watchFile, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTrailWatch, trailFindings } from '#app/alarms';
import {
  addAgreement,
  agreedConfig,
  agreedPins,
  agreementFileOf,
  draftAgreement,
  type Proposal,
  readAgreement,
  termsOf,
} from '#app/config/agreement';
import { parseConfig } from '#app/config/config';
import { createConfigAgreement } from '#app/config/config-agreement';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import { challengeOf } from '#approval/passkey';
import { signPayload } from '#approval/signed';
import type { Signer } from '#kernel/approval/answer';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { type SoftwareKey, softwareKey } from '../../../integration/approval/software-key.ts';

const cluster = { name: 'lab', endpoints: ['https://10.0.0.11:8006'], tokenId: 'ops@pve!banksman' };
const rule = (id: string, effect: string) => ({ id, surface: 'ssh', effect, program: 'foo', justification: 'x', match: ['foo'] });
const role = { name: 'lan', as: 'gateway', guest: 105, reason: 'all traffic goes through it' };
const scope = { name: 'ci', agents: ['mcp:ci'], reason: 'it only tests', only: { pools: ['staging'] }, changesPerDay: 20 };
const freeze = {
  ...{ name: 'nights', kind: 'freeze', reason: 'backups', zone: 'Europe/Berlin' },
  times: [{ start: '2026-01-01T01:00', duration: 'PT4H', rrule: 'FREQ=DAILY' }],
};
const agreed = {
  clusters: [cluster],
  protected: {
    nodes: ['agent1'],
    guests: [103, { vmid: 104, reason: 'VPN' }],
    services: ['docker'],
    addresses: ['192.168.1.61'],
    pools: ['prod'],
    names: [{ pattern: 'db-*', reason: 'data' }],
    protectReads: true,
  },
  roles: [role],
  scopes: [scope],
  windows: [freeze],
  securityLevel: 'balanced',
  defaultModelTier: 'intermediate',
  tiers: { restart_service: 'red' },
  approvals: { irreversible: 2, who: { irreversible: ['alice', 'bob'] }, ownUser: false },
  commandRules: [rule('no-foo', 'deny')],
  workspace: { requireSandbox: true },
};

function person(name: string) {
  const pair = generateApproverKey();
  return { signer: signerFrom(pair.privateKey, `user:${name}`), pin: { name: `user:${name}`, key: pair.publicKey } };
}

const signAgreement = async (at: string, proposal: Proposal, signer: Signer) =>
  addAgreement(at, await signPayload(draftAgreement(at, proposal, signer.approver), signer));

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-agreed-'));
  file = join(folder, 'config.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function terms() {
  const { signer, pin } = person('alice');
  const config = parseConfig(agreed, 'test');
  return (await signAgreement(file, { approvers: [pin], terms: { machine: termsOf(config) } }, signer)).terms.machine;
}

describe('what counts', () => {
  it.each([
    ['a lower level', { securityLevel: 'relaxed' }],
    ['a higher default tier', { defaultModelTier: 'advanced' }],
    ['a tool less strict', { tiers: {} }],
    ['one person less for what is irreversible', { approvals: { ...agreed.approvals, irreversible: 1 } }],
    ['somebody else who may approve', { approvals: { ...agreed.approvals, who: { irreversible: ['alice', 'bob', 'mallory'] } } }],
    ['anybody who may approve', { approvals: { ...agreed.approvals, who: {} } }],
    ['approving for one’s own agents', { approvals: { ...agreed.approvals, ownUser: true } }],
    ['a node less', { protected: { ...agreed.protected, nodes: [] } }],
    ['a guest less', { protected: { ...agreed.protected, guests: [104] } }],
    ['a service less', { protected: { ...agreed.protected, services: [] } }],
    ['an address less', { protected: { ...agreed.protected, addresses: [] } }],
    ['a pool less', { protected: { ...agreed.protected, pools: [] } }],
    ['a name less', { protected: { ...agreed.protected, names: ['db-1'] } }],
    ['reads of what is protected', { protected: { ...agreed.protected, protectReads: false } }],
    ['another endpoint', { clusters: [{ ...cluster, endpoints: ['https://10.0.0.66:8006'] }] }],
    ['another fingerprint', { clusters: [{ ...cluster, tls: { fingerprint: `AA${':AA'.repeat(31)}` } }] }],
    ['another ssh host', { clusters: [{ ...cluster, ssh: { nodes: { pve: { host: '10.0.0.66' } } } }] }],
    ['another cluster', { clusters: [cluster, { ...cluster, name: 'more', tokenFile: '/etc/token' }] }],
    ['a rule that allows', { commandRules: [...agreed.commandRules, { ...rule('yes-bar', 'allow'), program: 'bar', match: ['bar'] }] }],
    ['a rule that denies gone', { commandRules: [] }],
    ['the sandbox not required', { workspace: { requireSandbox: false } }],
    ['another store', { store: 'valkey://10.0.0.66:6379/0' }],
  ])('is not %s', async (_what, change) => {
    const { config, held } = agreedConfig(parseConfig({ ...agreed, ...change }, 'test'), await terms());
    expect(held).toHaveLength(1);
    const { protected: list, ...rest } = config;
    const { protected: before, ...others } = parseConfig(agreed, 'test');
    expect(rest).toEqual(others);
    expect({
      ...list,
      names: list.names.filter((entry) => typeof entry === 'object'),
      guests: list.guests.map(vmidOf).toSorted((a, b) => a - b),
    }).toEqual({ ...before, guests: [103, 104] });
  });

  it.each([
    ['a higher level', { securityLevel: 'strict' }],
    [
      'one more protected guest, and another reason',
      { protected: { ...agreed.protected, guests: [{ vmid: 103, reason: 'x' }, 104, 105] } },
    ],
    ['a cluster less', { clusters: [] }],
    [
      'more people, and fewer who may',
      { approvals: { ...agreed.approvals, disruptive: 2, who: { irreversible: ['bob', 'alice'], none: [] } } },
    ],
    ['one more scope', { scopes: [scope, { ...scope, name: 'all', agents: ['*'] }] }],
    ['another reason of a scope', { scopes: [{ ...scope, reason: 'other words' }] }],
    ['one more role', { roles: [role, { ...role, name: 'resolver', as: 'dns' }] }],
    ['one more window', { windows: [freeze, { ...freeze, name: 'mornings', kind: 'maintenance' }] }],
    [
      'one more rule that denies',
      { commandRules: [...agreed.commandRules, { ...rule('no-bar', 'deny'), program: 'bar', match: ['bar'] }] },
    ],
  ])('is at once %s', async (_what, change) => {
    const now = parseConfig({ ...agreed, ...change }, 'test');
    expect(agreedConfig(now, await terms())).toEqual({ config: now, held: [] });
  });
});

describe('scopes and windows', () => {
  it.each<[string, object, string]>([
    ['a scope gone', { scopes: [] }, 'the scope `ci` is gone or another'],
    ['a scope with more in it', { scopes: [{ ...scope, only: { pools: ['staging', 'prod'] } }] }, 'the scope `ci` is gone or another'],
    ['a higher budget', { scopes: [{ ...scope, changesPerDay: 30 }] }, 'the scope `ci` is gone or another'],
    ['a role gone', { roles: [] }, 'the role `lan` is gone or another'],
    ['a role of fewer', { roles: [{ ...role, of: { guests: [101] } }] }, 'the role `lan` is gone or another'],
    ['a window gone', { windows: [] }, 'the window `nights` is gone or another'],
    [
      'a shorter freeze',
      { windows: [{ ...freeze, times: [{ ...freeze.times[0], duration: 'PT1H' }] }] },
      'the window `nights` is gone or another',
    ],
  ])('that were agreed to hold beside %s', async (_what, change, words) => {
    const now = parseConfig({ ...agreed, ...change }, 'test');
    const { config, held } = agreedConfig(now, await terms());
    expect(held).toEqual([words]);
    expect(config.scopes).toEqual([...now.scopes, ...('scopes' in change ? parseConfig(agreed, 'test').scopes : [])]);
    expect(config.windows).toEqual([...now.windows, ...('windows' in change ? parseConfig(agreed, 'test').windows : [])]);
  });

  it('are missing in what was agreed to before there were any', async () => {
    const {
      scopes: _scopes,
      windows: _windows,
      protected: list,
      ...old
    } = (await terms()) as NonNullable<Awaited<ReturnType<typeof terms>>>;
    const { pools: _pools, names: _names, ...before } = list;
    const now = parseConfig(agreed, 'test');
    expect(agreedConfig(now, { ...old, protected: before } as never)).toEqual({ config: now, held: [] });
  });
});

const vmidOf = (entry: number | { readonly vmid: number }) => (typeof entry === 'number' ? entry : entry.vmid);

describe('with a passkey pinned', () => {
  const [phone, browser] = [softwareKey(), softwareKey({ name: 'alice-browser', display: 'same-account' })];
  const [ann, mallory] = [person('ann'), person('mallory')];
  const signedBy = (key: SoftwareKey, approvers: Proposal['approvers']) => {
    const payload = draftAgreement(file, { approvers }, `user:${key.pin.name}`);
    const { id, response } = key.get(challengeOf(payload));
    return addAgreement(file, { payload, proof: { kind: 'passkey', credentialId: id, ...response } });
  };

  it('the window’s key, which any extension can read, agrees to nothing', async () => {
    await signedBy(phone, [phone.pin, ann.pin]);
    for (const approvers of [[phone.pin, ann.pin, mallory.pin], [ann.pin], [phone.pin, ann.pin]])
      await expect(signAgreement(file, { approvers }, ann.signer)).rejects.toMatchObject({ code: 'needs_passkey' });
    expect(agreedPins([mallory.pin], readAgreement(file))).toEqual([]);
  });

  it('not even to begin with', async () => {
    await expect(signAgreement(file, { approvers: [phone.pin, ann.pin] }, ann.signer)).rejects.toMatchObject({ code: 'needs_passkey' });
    expect(readAgreement(file)).toBeUndefined();
  });

  it('a chain that it wrote itself counts for nothing', async () => {
    await signedBy(phone, [phone.pin, ann.pin]);
    const text = readFileSync(agreementFileOf(file), 'utf8');
    const entry = await signPayload(draftAgreement(file, { approvers: [ann.pin, mallory.pin] }, 'user:ann'), ann.signer);
    writeFileSync(agreementFileOf(file), JSON.stringify([...(JSON.parse(text) as unknown[]), entry]));
    expect(() => readAgreement(file)).toThrow(expect.objectContaining({ code: 'bad_agreement' }));
  });

  it('a terminal’s key agrees, too', async () => {
    const terminal = { ...ann.pin, kind: 'terminal' as const };
    await signedBy(phone, [phone.pin, terminal]);
    await signAgreement(file, { approvers: [phone.pin, terminal, mallory.pin] }, ann.signer);
    expect(agreedPins([mallory.pin], readAgreement(file))).toEqual([mallory.pin]);
  });

  it('one that is read in the account agrees only while there is none outside', async () => {
    await signedBy(browser, [browser.pin]);
    await signedBy(browser, [browser.pin, phone.pin]);
    await expect(signedBy(browser, [browser.pin, phone.pin, mallory.pin])).rejects.toMatchObject({ code: 'needs_passkey' });
    await signedBy(phone, [browser.pin, phone.pin, mallory.pin]);
    expect(agreedPins([mallory.pin], readAgreement(file))).toEqual([mallory.pin]);
  });

  it('an answer to another entry is none to this one', async () => {
    await signedBy(phone, [phone.pin]);
    const [payload, other] = [
      draftAgreement(file, { approvers: [phone.pin] }, 'x'),
      draftAgreement(file, { approvers: [mallory.pin] }, 'x'),
    ];
    const { id, response } = phone.get(challengeOf(payload));
    const forged = { payload: other, proof: { kind: 'passkey', credentialId: id, ...response } as const };
    await expect(addAgreement(file, forged)).rejects.toMatchObject({ code: 'needs_approver' });
  });
});

describe('the chain', () => {
  it('is begun by one who vouches for themselves, and goes on only with who counted before', async () => {
    const [alice, mallory] = [person('alice'), person('mallory')];
    await signAgreement(file, { approvers: [alice.pin] }, alice.signer);
    await expect(signAgreement(file, { approvers: [alice.pin, mallory.pin] }, mallory.signer)).rejects.toMatchObject({
      code: 'needs_approver',
    });
    expect(agreedPins([alice.pin, mallory.pin], readAgreement(file))).toEqual([alice.pin]);
    await signAgreement(file, { approvers: [alice.pin, mallory.pin] }, alice.signer);
    expect(agreedPins([mallory.pin], readAgreement(file))).toEqual([mallory.pin]);
  });

  it.each([
    ['a name changed', (text: string) => text.replaceAll('user:alice', 'user:alicf')],
    ['the first entry gone', (text: string) => JSON.stringify((JSON.parse(text) as unknown[]).slice(1))],
    ['no entries', () => '[]'],
    ['no JSON', () => 'x'],
    ['a null', () => 'null'],
  ])('that somebody wrote into counts for nothing at all: %s', async (_what, change) => {
    const { signer, pin } = person('alice');
    await signAgreement(file, { approvers: [pin] }, signer);
    await signAgreement(file, { approvers: [pin] }, signer);
    writeFileSync(agreementFileOf(file), change(readFileSync(agreementFileOf(file), 'utf8')));
    expect(() => readAgreement(file)).toThrow(expect.objectContaining({ code: 'bad_agreement' }));
  });
});

describe('the trail', () => {
  const trailOf = (drafts: readonly AuditDraft[]) => {
    const records = drafts.map(
      (draft, index): AuditRecord => ({ ...draft, version: 1, sequence: index + 1, time: '', previous: '', hash: '' }),
    );
    return { read: async (after: number, limit: number) => records.slice(after, after + limit), head: async () => records.at(-1) };
  };
  const of = (name: AuditDraft['name'], id: string): AuditDraft => ({ name, attributes: { request_id: id } });

  it('names what was used and nobody gave, and nothing of which the beginning is not there', async () => {
    const watch = createTrailWatch(
      trailOf([
        ...[of('approval.requested', 'req-00000001'), of('approval.approved', 'req-00000001'), of('approval.consumed', 'req-00000001')],
        ...[of('approval.requested', 'req-00000002'), of('approval.consumed', 'req-00000002')],
        of('approval.consumed', 'req-00000003'),
      ]),
    );
    const seen = await watch.look();
    expect(seen.unanswered).toEqual(['req-00000002']);
    expect(trailFindings(seen)).toMatchObject([{ topic: 'approvals', state: 'failed', message: expect.stringContaining('req-00000002') }]);
    expect(await watch.look()).toEqual(seen);
  });
});

it('a window is told once somebody agreed to what counts otherwise then, and not because nobody has: it would start again, and again', async () => {
  const calls: number[] = [];
  const { forPeople } = createConfigAgreement({ config: parseConfig(agreed, 'x'), configFile: file, origin: 'editor' });
  const stop = forPeople({ append: async () => ({}) as AuditRecord }, async () => []).onChange(() => void calls.push(1));
  const place = agreementFileOf(file);
  const looks: (() => void)[] = [];
  const looked = () => new Promise<void>((resolve) => void looks.push(resolve));
  // Of the same file there is one watch, whose listeners are called one after the other.
  const probe = () => looks.shift()?.();
  const first = looked();
  watchFile(place, { interval: 2_000 }, probe);
  try {
    await first;
    expect(calls).toEqual([]);
    const next = looked();
    const alice = person('alice');
    // Stricter than the window's own, which counted while nobody had agreed to anything.
    const protectsMore = parseConfig({ ...agreed, protected: { ...agreed.protected, nodes: ['agent1', 'agent2'] } }, 'x');
    await signAgreement(file, { approvers: [alice.pin], terms: { editor: termsOf(protectsMore) } }, alice.signer);
    await next;
    expect(calls).toEqual([1]);
  } finally {
    unwatchFile(place, probe);
    stop?.();
  }
});
