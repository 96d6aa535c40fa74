import { describe, expect, it } from 'vitest';
import { drawnView, type View } from '#hosts/page/markup';
import { languageOf, languageTag } from '#hosts/page/reader';
import { requestView } from '#hosts/page/request-view';
import { type Listed, listView, plainName, strangerView } from '#hosts/page/views';
import type { ReviewCard } from '#kernel/approval/answer';
import type { PasskeyApprover } from '#kernel/approval/passkey';
import type { RequestRecord } from '#kernel/approval/request';
import type { JsonObject } from '#kernel/json';
import { asIs, inEnglish, type Language, say } from '#kernel/text/message';
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
const drawn = (view: View, language: Language = inEnglish) =>
  drawnView(view, language) as { readonly main: string; readonly summary: string };
const view = (shown: RequestRecord, changes: Partial<ReviewCard> = {}, language = inEnglish) =>
  drawn(requestView({ card: card(shown, changes), approver, now, origin }), language).main;
const list = (records: readonly RequestRecord[], changes: Partial<Listed> = {}) =>
  drawn(listView({ records, running: [], more: false, held: 0, now, ...changes }));
const textOf = (markup: string) => markup.replace(/<[^>]*>/g, '\n');

describe.each(hostileNames)('a guest named %j', (name) => {
  it('changes nothing of the markup, and hides neither number nor node', () => {
    const shapes = (markup: string) => markup.match(/<\/?[a-z]+/g);
    const plain = record('web');
    for (const [hostile, usual] of [
      [view(record(name)), view(plain)],
      [list([record(name)]).main, list([plain]).main],
    ] as const) {
      expect(shapes(hostile)).toEqual(shapes(usual));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
      expect(hostile).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u2800\u0000-\u0009\u000b-\u001f]|\p{M}{4}/u);
      expect(hostile.length).toBeLessThan(usual.length + 16_000);
    }
    expect(textOf(view(record(name)))).toMatch(/\nVM\n+100\n[\s\S]*\nNode\n+pve\n/);
    expect(textOf(list([record(name)]).main)).toContain('VM 100 on pve');
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
    const same = drawn(requestView({ card: card(record('web')), approver: { ...approver, display: 'same-account' }, now, origin })).main;
    expect(textOf(same)).toContain('programs there can show another card');
  });

  it('carries the digest that was shown, in whichever language', async () => {
    const german = await languageOf('de');
    for (const language of [inEnglish, german])
      expect(view(record('web'), {}, language)).toContain(`data-digest="${record('web').digest}"`);
    const shown = textOf(view(record('web'), {}, german));
    expect(shown).toMatch(/Was geschieht\n[\s\S]*Ziel:|Der Aufruf/);
    expect(shown).toContain('außerhalb des Kontos der Agenten');
    expect(shown).toContain('Was genau unterschrieben wird');
  });

  it('paused by somebody with marks in their name shows them as they are', () => {
    const paused = { by: 'user:**<b>eve', at: now, reason: '[x](/me) `y` {0}' };
    const { main } = list([], { paused });
    expect(main).toContain('<strong>All agents are paused</strong> by user:**&lt;b&gt;eve: “[x](/me) &#96;y&#96; {0}”.');
    expect(main).toContain('<a href="/settings">resumed</a>');
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
    const { main, summary } = list(records);
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
    expect(list([]).summary).toBe('Nothing waits for you.');
  });
});

it('a stranger is told what to do, and nothing else', () => {
  expect(textOf(drawn(strangerView('http://localhost:779')).main)).toContain('banksman approvers enroll NAME');
});

it.each([
  [undefined, 'en'],
  ['', 'en'],
  ['de', 'de'],
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['fr-FR, de;q=0.5, en;q=0.4', 'de'],
  ['en-US,en;q=0.9,de;q=0.8', 'en'],
  ['de;q=0.3,en;q=0.7', 'en'],
  ['en;q=0.5,de;q=0.5', 'en'],
  ['de;q=0', 'en'],
  ['de;q=x, en;q=0.1', 'en'],
  ['*, de;q=0.9', 'en'],
  ['DE-ch ; Q=0.8 , en ; q=0.2', 'de'],
  ['den, deu', 'en'],
])('a browser that accepts %j reads %s', (accepted, tag) => {
  expect(languageTag(accepted)).toBe(tag);
});
