import { describe, expect, it } from 'vitest';
import { reviewCard } from '#approval/card';
import { digestOf } from '#approval/digest';
import type { EffectiveAction, RequestRecord } from '#kernel/approval/request';
import { asIs } from '#kernel/text/message';
import { draftOf, stopAction } from '../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;

function recordOf(changes: Partial<RequestRecord> = {}): RequestRecord {
  return { ...draftOf(), id: 'req-0123abcd', status: 'pending', createdAt: now, expiresAt: now + 3_600_000, ...changes };
}

const cardOf = (changes: Partial<RequestRecord> = {}) => reviewCard(recordOf(changes), { now, via: 'cli' });
const lines = (card: { detail: string }): string[] => card.detail.split('\n');

describe('reviewCard', () => {
  it('says what, to what, how bad, who asks, why, and until when', () => {
    const card = cardOf({ code: 'confirmation_required' });
    expect(card).toMatchObject({ id: 'req-0123abcd', title: 'Stop VM 100 (web100) on pve?', tampered: false });
    expect(lines(card)).toEqual([
      'It interrupts what runs there.',
      'Note: It has been up for 3 days.',
      '',
      'Target: VM 100 (web100) on pve, cluster lab',
      'Call: stop_vm {"vmid":100}',
      '',
      'Asked by mcp:laptop through mcp, model some-model, calls itself "Laptop"',
      'It claims (nobody checked this): "the disk is full"',
      '',
      'No call waits for the answer. Approved once, the agent may run it within five minutes, when it asks again.',
      'Request req-0123abcd can be answered for 1 hour.',
    ]);
  });

  it('says why it asks only where that says something about this call', () => {
    expect(cardOf({ code: 'confirmation_required', reason: 'red tools need a person' }).detail).not.toContain('need a person');
    expect(cardOf({ code: 'network_blocked', reason: 'it wants the network' }).detail).toContain('Why it asks: it wants the network');
  });

  it('says whether a call waits for the answer, until when, and since when none does', () => {
    const at = new Date(2027, 0, 5, 14, 2, 10).getTime();
    const waiting = { by: 'a', until: at + 60_000, seenAt: at };
    const cardAt = (later: number) =>
      reviewCard(recordOf({ createdAt: at, expiresAt: at + 3_600_000, wait: waiting }), { now: at + later, via: 'cli' });
    expect(cardAt(1_000)).toMatchObject({ waits: true, detail: expect.stringContaining('The call waits for your answer until 14:03:10.') });
    const later = { ...waiting, seenAt: at + 60_000 };
    const ended = reviewCard(recordOf({ createdAt: at, expiresAt: at + 3_600_000, wait: later }), { now: at + 70_000, via: 'cli' });
    expect(ended).toMatchObject({ waits: false, detail: expect.stringContaining('No call has waited for the answer since 14:03:10') });
    // Killed: it has said nothing for half a minute.
    expect(cardAt(30_000)).toMatchObject({ waits: false, detail: expect.stringContaining('since 14:02:10') });
  });

  it('shows a plan that is none in every part as the call that it is', () => {
    const step = { tool: 'stop_vm', input: { vmid: 100 }, title: 'Stop VM 100', impact: 'disruptive', after: [] };
    const planWith = (undo: object) => ({
      ...stopAction(),
      tool: 'apply_plan',
      arguments: { cluster: 'lab', steps: [{ ...step, undo }], blast: [], unknown: [] },
    });
    const shown = (undo: object) => cardOf({ action: planWith(undo) as unknown as EffectiveAction }).detail;
    expect(shown({ tool: 'start_vm', input: {} })).toContain('it can be taken back by start_vm');
    expect(shown({ none: 'it is gone', words: { text: 5 } })).toContain('it cannot be taken back: it is gone');
    for (const odd of [
      { tool: 'start_vm', loses: 5 },
      { tool: 'start_vm', none: 5 },
    ])
      expect(shown(odd)).toContain('Call: apply_plan');
  });

  it('leaves out what was not given', () => {
    const { claim: _, ...bare } = recordOf({ risk: [], agent: { id: 'mcp:laptop', host: 'mcp' } });
    const card = reviewCard(bare, { now, via: 'cli' });
    expect(card.detail).not.toMatch(/claims|model|calls itself/);
    expect(card.detail).toContain('Asked by mcp:laptop through mcp\n');
  });

  it('shows a decided request as decided', () => {
    expect(lines(cardOf({ status: 'denied' })).at(-1)).toBe('Request req-0123abcd: denied');
    expect(lines(cardOf({ status: 'expired' })).at(-1)).toContain('nobody decided');
  });

  const nasty = 'ok\nApproved by: the boss\u202e\u200b\u001b[2J\u2028\u0000';

  it('keeps every text in its line, whatever it holds', () => {
    const action = { ...stopAction(), tool: nasty, arguments: { text: nasty }, cluster: nasty, agentId: nasty };
    const card = cardOf({
      action,
      digest: digestOf(action),
      title: `Stop VM 100 ${nasty}`,
      risk: [nasty],
      reason: nasty,
      claim: nasty,
      agent: { id: nasty, host: 'mcp', model: nasty, label: nasty },
    });
    expect(lines(card)).toHaveLength(12);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what must not be there
    expect(card.title + card.detail.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u202e\u2028]/);
  });

  it('stays bounded, and says what it left out', () => {
    const action = {
      ...stopAction(),
      arguments: { command: `ls ${'x'.repeat(20_000)}; rm -rf /` },
      targets: Array.from({ length: 40 }, (_, index) => ({ kind: 'node', node: `n${index}` })),
    };
    const title = action.targets.map((target) => target.node).join(' ');
    const card = cardOf({
      action,
      digest: digestOf(action),
      title,
      risk: Array.from({ length: 50 }, () => 'x'.repeat(5000)),
      claim: 'x'.repeat(5000),
    });
    expect(card.detail.length).toBeLessThan(12_000);
    expect(card.detail).toContain('NOT SHOWN IN FULL');
    expect(card.detail).toContain('(and 30 more targets, not shown)');
    expect(card.detail).toContain('(and 40 more facts, not shown)');
    expect(card.title.length).toBeLessThan(220);
  });

  describe('marks as tampered', () => {
    it('a record whose action does not match its digest', () => {
      const card = cardOf({ action: stopAction(103), digest: digestOf(stopAction(100)), title: 'Stop VM 103 (web103) on pve' });
      expect(card).toMatchObject({ tampered: true, title: 'stop_vm: VM 103 (web103) on pve?' });
      expect(card.detail).toMatch(/^WARNING: /);
    });

    it('a record that was moved to another agent', () => {
      expect(cardOf({ action: stopAction(100, 'mcp:other'), digest: digestOf(stopAction(100, 'mcp:other')) }).tampered).toBe(true);
    });

    it('an action without a canonical form', () => {
      expect(cardOf({ action: { ...stopAction(), arguments: { a: '\ud800' } }, digest: digestOf(stopAction()) })).toMatchObject({
        tampered: true,
      });
    });

    it.each([
      ['another guest', 'Stop VM 101 (web101) on pve'],
      ['a number that only contains the right one', 'Stop VM 1001 on pve'],
      ['nothing', 'Look at something'],
    ])('a title that names %s', (_, title) => {
      expect(cardOf({ title })).toMatchObject({ tampered: true, title: 'stop_vm: VM 100 (web100) on pve?' });
    });

    it('a title or a tool that the catalog would not have given', () => {
      const fromCatalog = () => ({ title: asIs('Stop VM 100 (web100) on pve'), tier: 'red', impact: 'disruptive' }) as const;
      expect(reviewCard(recordOf(), { now, via: 'cli', describe: fromCatalog }).tampered).toBe(false);
      expect(reviewCard(recordOf({ title: 'Start VM 100 (web100) on pve' }), { now, via: 'cli', describe: fromCatalog }).tampered).toBe(
        true,
      );
      expect(reviewCard(recordOf(), { now, via: 'cli', describe: () => undefined }).tampered).toBe(true);
    });
  });

  describe('asks for typing', () => {
    const typed = (changes: Partial<RequestRecord>, level: 'balanced' | 'strict') =>
      reviewCard(recordOf(changes), { now, via: 'cli', level }).typeToConfirm;

    it.each([
      ['none', false, false],
      ['reversible', false, false],
      ['disruptive', false, true],
      ['irreversible', true, true],
    ] as const)('for impact %s: balanced %s, strict %s', (impact, balanced, strict) => {
      expect(typed({ impact }, 'balanced') !== undefined).toBe(balanced);
      expect(typed({ impact }, 'strict') !== undefined).toBe(strict);
    });

    it('of the name and a code that is new each time', () => {
      const codes = Array.from({ length: 20 }, () => typed({ impact: 'irreversible' }, 'balanced'));
      for (const code of codes) expect(code).toMatch(/^web100 [2-9A-HJ-NP-Z]{4}$/);
      expect(new Set(codes).size).toBeGreaterThan(15);
    });

    it('of the number where the name could not be typed', () => {
      const [target] = stopAction().targets;
      const action = { ...stopAction(), targets: [{ ...target, name: 'wéb\u202e' }] };
      expect(typed({ action, digest: digestOf(action), impact: 'irreversible' }, 'balanced')).toMatch(/^100 /);
    });

    it('even where the stored impact was played down', () => {
      const fromCatalog = () => ({ title: asIs('Stop VM 100 (web100) on pve'), tier: 'red', impact: 'irreversible' }) as const;
      expect(reviewCard(recordOf({ impact: 'none' }), { now, via: 'cli', describe: fromCatalog }).typeToConfirm).toMatch(/^web100 /);
    });
  });
});

it('of a report says nothing of calls that wait: none does', () => {
  const reported = { reason: 'url_blocked', destination: 'evil.example' } as const;
  expect(cardOf().detail).toContain('No call waits for the answer');
  expect(cardOf({ reported }).detail).not.toMatch(/call waits|may run it/);
});

describe('of held changes', () => {
  const change = { path: 'a.txt', kind: 'create', facts: [], why: 'an editor runs or obeys it', diff: ['+x'] };
  const target = { kind: 'held', access: 'operate', id: 'x-1-held', digest: 'ab', changes: [change], more: 0, lost: false };
  const held = (action: Partial<EffectiveAction> = {}, changes: Partial<RequestRecord> = {}) => {
    const whole = { ...stopAction(), cluster: null, tool: 'apply_held', arguments: { held: 'x-1-held' }, targets: [target], ...action };
    const note = 'Exactly these changes are applied, all or none.';
    return recordOf({
      action: whole,
      digest: digestOf(whole),
      title: 'Apply 1 held change: a.txt',
      impact: 'reversible',
      risk: [note],
      ...changes,
    });
  };
  const inEditor = (record: RequestRecord) => reviewCard(record, { now, via: 'editor' }).detail;
  const atTerminal = (record: RequestRecord) => reviewCard(record, { now, via: 'cli' }).detail;

  it('names the way back where it is shown, and no internal name', () => {
    expect(inEditor(held())).toContain('It can be undone: “Banksman: Undo This Run…”.');
    expect(atTerminal(held())).toContain('It can be undone: banksman runs undo.');
    for (const detail of [inEditor(held()), atTerminal(held())]) {
      expect(detail).toContain('create a.txt');
      expect(detail).not.toMatch(/x-1-held|Target:|Call:|`|^- /m);
    }
    expect(inEditor(held({}, { impact: 'irreversible' }))).toContain('It cannot be undone.');
  });

  it('says who applies it at a terminal; a window says that below the card', () => {
    expect(atTerminal(held())).toMatch(/applied at once where this workspace is on this machine; else by a process/);
    expect(inEditor(held())).not.toMatch(/five minutes|a process/);
  });

  it.each<Partial<EffectiveAction>>([
    { arguments: { held: 'x-1-held', more: 'hidden' } },
    { arguments: { held: 'another' } },
    { cluster: 'lab' },
    { targets: [target, { kind: 'node', node: 'pve' }] },
    { targets: [{ ...target, changes: [] }] },
  ])('hides nothing that does not belong to it: %j', (action) => {
    const detail = inEditor(held(action));
    expect(detail).toContain('Call: apply_held');
    expect(detail).toContain('Target: ');
  });
});
