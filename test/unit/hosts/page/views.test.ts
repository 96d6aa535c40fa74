import { describe, expect, it } from 'vitest';
import { requestView } from '#hosts/page/request-view';
import { listView, plainName, strangerView } from '#hosts/page/views';
import type { ReviewCard } from '#kernel/approval/answer';
import type { PasskeyApprover } from '#kernel/approval/passkey';
import type { RequestRecord } from '#kernel/approval/request';
import type { JsonObject } from '#kernel/json';
import { asIs, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { draftOf } from '../../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;
const approver: PasskeyApprover = { name: 'alice-phone', person: 'alice', display: 'outside', fingerprint: 'f', enrolledAt: '2026-11-23' };

const hostileNames = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  '\u202egnp.100\u202c',
  '\u2800'.repeat(50),
  `a${'\u0301'.repeat(200)}`,
  'web'.repeat(4_000),
  '\u0000\u001b[2J\n\n\n',
  '𒐫'.repeat(100),
  '{{7*7}}<%= 7 %>',
];

function record(name: string, changes: Partial<RequestRecord> = {}): RequestRecord {
  const target = { kind: 'guest', access: 'operate', cluster: 'lab', vmid: 100, node: 'pve', guestType: 'qemu', name, addresses: [] };
  const draft = draftOf();
  const action = { ...draft.action, targets: [target] };
  return {
    ...draft,
    title: `Stop VM 100 (${name}) on pve`,
    action,
    id: 'req-0123abcd',
    status: 'pending',
    createdAt: now,
    expiresAt: now + 3_600_000,
    ...changes,
  };
}

function card(shown: RequestRecord, changes: Partial<ReviewCard> = {}): ReviewCard {
  return {
    ...{ id: shown.id, record: shown, title: `${shown.title}?`, titleWords: asIs(shown.title), detail: '', waits: false, tampered: false },
    sections: [
      { kind: 'effect', lines: [say`It interrupts what runs there.`, say`Note: ${showPlainly(shown.title)}`] },
      { kind: 'call', lines: [say`Target: ${'VM 100 on pve'}`, say`Call: ${'stop_vm'} ${'{"vmid":100}'}`] },
    ],
    progress: { needed: 1, people: [], outside: false },
    ...changes,
  };
}

const origin = 'https://banksman.lan';
const view = (shown: RequestRecord, changes: Partial<ReviewCard> = {}) =>
  requestView({ card: card(shown, changes), approver, now, origin }).main;
const textOf = (markup: string) => markup.replace(/<[^>]*>/g, '\n');

describe.each(hostileNames)('a guest named %j', (name) => {
  it('changes nothing of the markup, and hides neither number nor node', () => {
    const shapes = (markup: string) => markup.match(/<\/?[a-z]+/g);
    const plain = record('web');
    for (const [hostile, usual] of [
      [view(record(name)), view(plain)],
      [
        listView({ records: [record(name)], running: [], more: false, held: 0, now }).main,
        listView({ records: [plain], running: [], more: false, held: 0, now }).main,
      ],
    ] as const) {
      expect(shapes(hostile)).toEqual(shapes(usual));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
      expect(hostile).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u2800\u0000-\u0009\u000b-\u001f]|\p{M}{4}/u);
      expect(hostile.length).toBeLessThan(usual.length + 16_000);
    }
    expect(textOf(view(record(name)))).toMatch(/\nVM\n+100\n[\s\S]*\nNode\n+pve\n/);
    expect(textOf(listView({ records: [record(name)], running: [], more: false, held: 0, now }).main)).toContain('VM 100 on pve');
  });

  it('is short where it stands', () => {
    expect(plainName(name).length).toBeLessThan(120);
  });
});

describe('one request', () => {
  it('that was changed in the store has no button that approves', () => {
    const shown = view(record('web'), { tampered: true, typeToConfirm: 'web 7KQ2' });
    expect(shown).toContain('changed after it was made');
    expect(shown).not.toMatch(/data-act="approve"|id="typed"/);
    expect(shown).toContain('data-act="deny"');
  });

  it('that is over has no button, and says how it ended', () => {
    const decision = { by: 'user:bob', via: 'cli', at: now, message: '<b>no</b>' } as const;
    const shown = view(record('web', { status: 'denied', decision }));
    expect(shown).not.toContain('data-act');
    expect(textOf(shown)).toContain('Denied by bob');
    expect(shown).toContain('&lt;b&gt;no&lt;/b&gt;');
  });

  it('asks nobody twice who has agreed already', () => {
    const sections = [{ kind: 'rules', lines: [say`2 people have to approve it; so far 1 of 2: alice.`] }] as const;
    const shown = view(record('web'), { sections, progress: { needed: 2, people: ['alice'], outside: false } });
    expect(textOf(shown)).toMatch(/Who has to agree\n[\s\S]*1 of 2: alice/);
    expect(shown).not.toContain('data-act="approve"');
    expect(view(record('web'), { progress: { needed: 2, people: ['bob'], outside: false } })).toContain('data-act="approve"');
  });

  it('shows all that would be written, and what an edit changes', () => {
    const written = (tool: string, values: JsonObject) => {
      const shown = record('web');
      return view({ ...shown, action: { ...shown.action, tool, arguments: { path: 'a.ts', ...values } } });
    };
    expect(written('write_file', { content: `${'x'.repeat(5_000)}\n<b>last</b>` })).toContain('x\n&lt;b&gt;last&lt;/b&gt;</pre>');
    const edited = written('edit_file', { edits: [{ old_text: 'on: push\n', new_text: 'on: [push]\n' }, 7] });
    expect(edited).toMatch(/class="del"> {2}-on: push\n[\s\S]*class="add"> {2}\+on: \[push\]/);
  });

  it('says on which display it is read', () => {
    expect(textOf(view(record('web')))).toContain('outside the agents’ account');
    const same = requestView({ card: card(record('web')), approver: { ...approver, display: 'same-account' }, now, origin }).main;
    expect(textOf(same)).toContain('programs there can show another card');
  });

  it('carries the digest that was shown', () => {
    expect(view(record('web'))).toContain(`data-digest="${record('web').digest}"`);
  });
});

describe('the list', () => {
  it('is by agent, the oldest first, and one press denies all of an agent, or all there are', () => {
    const other = { ...record('web').agent, id: 'mcp:other', host: 'mcp', label: 'other' } as const;
    const records = [
      record('c', { id: 'req-00000003' }),
      record('b', { id: 'req-00000002', agent: other }),
      record('a', { id: 'req-00000001' }),
    ];
    const { main, summary } = listView({ records, running: [], more: false, held: 0, now });
    expect([...main.matchAll(/href="\/r\/(req-\d+)"/g)].map(([, id]) => id)).toEqual(['req-00000001', 'req-00000003', 'req-00000002']);
    const denied = [...main.matchAll(/data-requests="([^"]*)"/g)].map(([, ids = '']) => ids.split(' ').toSorted());
    const [a, b, c] = ['req-00000001', 'req-00000002', 'req-00000003'];
    expect(denied).toEqual([
      [a, c],
      [a, b, c],
    ]);
    expect(summary).toBe('3 requests wait for an answer.');
  });

  it('that is empty says so', () => {
    expect(listView({ records: [], running: [], more: false, held: 0, now }).summary).toBe('Nothing waits for you.');
  });
});

it('a stranger is told what to do, and nothing else', () => {
  expect(textOf(strangerView('http://localhost:779').main)).toContain('banksman approvers enroll NAME');
});
