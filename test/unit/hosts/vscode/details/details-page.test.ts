import { describe, expect, it } from 'vitest';
import { reviewCard } from '#approval/card';
import { detailsPage, type RequestFacts } from '#hosts/vscode/details/details-page';
import type { RequestRecord } from '#kernel/approval/request';
import { Html, html, lines } from '#kernel/text/html';
import { draftOf } from '../../../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;
const nonce = '0123456789abcdef0123456789abcdef';

function record(changes: Partial<RequestRecord> = {}): RequestRecord {
  return { ...draftOf(), id: 'req-0123abcd', status: 'pending', createdAt: now, expiresAt: now + 3_600_000, ...changes };
}

function page(changes: Partial<RequestRecord> = {}, facts: Partial<RequestFacts> = {}): string {
  const shown = record(changes);
  return detailsPage({
    record: shown,
    card: { title: `${shown.title}?`, tampered: false, sections: [] },
    live: [{ label: 'Now', value: 'running' }],
    policy: undefined,
    now,
    nonce,
    ...facts,
  });
}

/** Text as a browser would show it, tags gone. */
const textOf = (markup: string) => markup.replace(/<style[\s\S]*?<\/style>/g, '').replace(/<[^>]*>/g, '');

describe('the page of a request', () => {
  it('allows one style sheet and nothing else', () => {
    const shown = page();
    const csp = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(shown)?.[1];
    expect(csp).toBe(`default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`);
    expect(shown.match(/<style/g)).toHaveLength(1);
    expect(shown).not.toMatch(/<script|<img|<iframe|<form|\son\w+=/i);
  });

  it.each([
    [{ by: 'a call', until: now + 120_000, seenAt: now }, /Waits for a person\. The call waits for your answer until \d\d:\d\d:\d\d\./],
    [
      { by: 'a call', until: now - 60_000, seenAt: now - 60_000 },
      /Waits for a person\. No call has waited for the answer since \d\d:\d\d:\d\d\. Approved once, the agent may run it/,
    ],
    [undefined, /No call waits for the answer\./],
  ])('says whether anybody waits for the answer: %j', (wait, words) => {
    const changes = wait === undefined ? {} : { wait };
    const text = textOf(page(changes, { card: reviewCard(record(changes), { now, via: 'editor' }) }));
    expect(text).toMatch(words);
    expect(text).toContain('can be answered for 1 hour');
  });

  it('of held changes names the way back of this window', () => {
    const action = { ...draftOf().action, tool: 'apply_held' };
    expect(textOf(page({ action, impact: 'reversible' }))).toContain('can be undone: “Banksman: Undo This Run…”');
    expect(textOf(page({ impact: 'reversible' }))).not.toContain('Undo This Run');
  });

  it('gives a reason for asking only where it is one', () => {
    expect(textOf(page({ code: 'confirmation_required', reason: 'it needs approval' }))).not.toContain('it needs approval');
    expect(textOf(page({ code: 'CONTROL_FILE', reason: 'an editor obeys it' }))).toContain('Why a person is asked');
  });

  it('links to commands with the id alone, and to nothing else', () => {
    const links = [...page().matchAll(/href="([^"]*)"/g)].map((match) => match[1]);
    const id = encodeURIComponent('["req-0123abcd"]');
    expect(links).toEqual([`command:banksman.review?${id}`, `command:banksman.deny?${id}`]);
  });

  it('leads to the approval page where there is one, with the id alone', () => {
    const href = `command:banksman.openPage?${encodeURIComponent('["req-0123abcd"]')}`;
    expect(page({}, { page: 'https://banksman.lan' })).toContain(`href="${href}"`);
    expect(page({ status: 'denied' }, { page: 'https://banksman.lan' })).not.toContain('openPage');
  });

  it.each([
    ['denied', {}, []],
    ['consumed', {}, []],
    ['approved', {}, ['revoke']],
    ['pending', { action: { ...draftOf().action, tool: 'write_file' } }, ['review', 'deny', 'showDiff']],
  ] as const)('offers what can still be done with a request that is %s', (status, changes, commands) => {
    const links = [...page({ status, ...changes }).matchAll(/command:banksman\.(\w+)\?/g)].map((match) => match[1]);
    expect(links).toEqual(commands);
  });

  it('says what, why, who, when and what the policy says', () => {
    const policy = {
      tool: 'stop_vm',
      decision: { effect: 'ask', code: 'needs_approval', reason: 'red', rules: [] },
      status: 'pending',
      stages: [{ stage: 'classify', decision: { effect: 'ask', code: 'red_tier', reason: 'a person decides', rules: ['tier.red'] } }],
    } as const;
    const text = textOf(page({ claim: 'maintenance' }, { policy }));
    for (const part of ['stop_vm', 'interrupts what runs there', 'maintenance', 'a person decides', 'tier.red', 'running', 'req-0123abcd'])
      expect(text).toContain(part);
  });

  it('says that it is still asking, and what could not be read', () => {
    expect(textOf(page({}, { live: undefined }))).toContain('Asking the cluster…');
    expect(textOf(page({}, { live: { failed: 'connection refused' } }))).toContain('It cannot be read: connection refused');
  });

  it('says who decided, with which words', () => {
    const decision = { by: 'user:alice', via: 'editor', at: now, message: 'not today' } as const;
    expect(textOf(page({ status: 'denied', decision }))).toContain('denied by user:alice in the editor: “not today”');
  });

  it('of a changed record warns and does not pretend that it can be answered', () => {
    expect(textOf(page({}, { card: { title: 'stop_vm?', tampered: true, sections: [] } }))).toContain('It cannot be approved');
  });

  it('of a reported block shows what was reported, and says that settling it lets nothing through', () => {
    const shown = textOf(page({ reported: { reason: 'url_blocked', destination: 'evil.example', pattern: 'sk-[a-z]+' } }));
    for (const part of ['evil.example', 'url_blocked', 'sk-[a-z]+', 'lets nothing through']) expect(shown).toContain(part);
  });

  const nasty = `</style><script>alert(1)</script><a href="command:banksman.x">"'\`&\u202e\u0000`;
  it('shows words from outside as they are', () => {
    const shown = page(
      {
        title: nasty,
        risk: [nasty],
        reason: nasty,
        code: nasty,
        claim: nasty,
        agent: { id: nasty, host: 'mcp', model: nasty, label: nasty },
        action: {
          ...draftOf().action,
          tool: nasty,
          arguments: { content: nasty, [nasty]: [nasty] },
          targets: [{ kind: nasty }],
          cluster: nasty,
        },
        decision: { by: nasty, via: 'cli', at: now, message: nasty },
        reported: undefined as never,
      },
      {
        live: [{ label: nasty, value: nasty, warns: true }],
        policy: { failed: nasty },
        card: { title: nasty, tampered: false, sections: [{ kind: 'state', lines: [nasty] }] },
      },
    );
    expect(shown).not.toContain('<script');
    expect(shown.match(/<\/style>/g)).toHaveLength(1);
    expect(shown).not.toContain('command:banksman.x"');
    for (const hidden of ['\u202e', '\u0000']) expect(shown).not.toContain(hidden);
    expect(shown).toContain('&lt;script&gt;');
  });

  it('does not take an object out of the store for markup', () => {
    const forged = { markup: '<script>alert(1)</script>' } as never;
    expect(page({ reason: forged, claim: forged })).not.toContain('<script');
  });
});

describe('html', () => {
  it('escapes values and keeps its own markup', () => {
    expect(html`<b title="${'"><i>'}">${html`<i>${'<'}</i>`}${[html`1`, html`2`]}${3}</b>`.markup).toBe(
      '<b title="&quot;&gt;&lt;i&gt;"><i>&lt;</i>123</b>',
    );
    expect(html`${new Html('<hr>')}`.markup).toBe('<hr>');
  });

  it('keeps lines and says what it cut', () => {
    expect(lines('a\n<b>\tc\u202e', 100).markup).toBe('a\n&lt;b&gt;\\tc\\u{202e}');
    expect(lines('x'.repeat(30), 10).markup).toBe(`${'x'.repeat(10)}\n… (20 characters more)`);
  });
});
