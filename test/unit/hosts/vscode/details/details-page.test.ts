import { describe, expect, it } from 'vitest';
import { reviewCard } from '#approval/card';
import { detailsMarkup, detailsParts, detailsVerbs, type RequestFacts } from '#hosts/vscode/details/details-page';
import { pageShell } from '#hosts/vscode/live-shell';
import type { RequestRecord } from '#kernel/approval/request';
import { Html, html, lines } from '#kernel/text/html';
import { asIs, say } from '#kernel/text/message';
import { draftOf } from '../../../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;

function record(changes: Partial<RequestRecord> = {}): RequestRecord {
  return { ...draftOf(), id: 'req-0123abcd', status: 'pending', createdAt: now, expiresAt: now + 3_600_000, ...changes };
}

function page(changes: Partial<RequestRecord> = {}, facts: Partial<RequestFacts> = {}): string {
  return Object.values(partsOf(changes, facts)).join('');
}

function partsOf(changes: Partial<RequestRecord> = {}, facts: Partial<RequestFacts> = {}) {
  const shown = record(changes);
  return detailsMarkup({
    record: shown,
    card: { title: `${shown.title}?`, tampered: false, sections: [] },
    live: [{ label: say`Now`, value: asIs('running') }],
    policy: undefined,
    ...facts,
  });
}

/** Text as a browser would show it, tags gone. */
const textOf = (markup: string) => markup.replace(/<style[\s\S]*?<\/style>/g, '').replace(/<[^>]*>/g, '');

describe('the page of a request', () => {
  it('is a document whose policy allows one style sheet and our own script, and parts with neither', () => {
    const shown = pageShell({ title: 'x', nonce: 'n0', script: 's', style: '', parts: detailsParts, spoken: 'state' });
    const csp = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(shown)?.[1];
    expect(csp).toBe(`default-src 'none'; style-src 'nonce-n0'; script-src 'nonce-n0'; base-uri 'none'; form-action 'none'`);
    expect(shown).toContain('<section id="state" role="status"></section>');
    expect(shown.match(/role="status"/g)).toHaveLength(1);
    expect(page()).not.toMatch(/<script|<style|<img|<iframe|<form|\son\w+=|href=/i);
  });

  it('says nothing of the policy for a plan, which no agent can call: each step is asked of it as it runs', () => {
    const action = { ...record().action, tool: 'apply_plan', arguments: { steps: [] } };
    expect(textOf(page())).toContain('What the policy says now');
    expect(textOf(page({ action }))).not.toContain('What the policy says now');
  });

  it('speaks how it stands, and not the time that runs', () => {
    const at = (ms: number) => partsOf({}, { card: reviewCard(record(), { now: ms, via: 'editor' }) });
    expect(at(now).state).toBe(at(now + 1_200_000).state);
    expect(at(now).acts).not.toBe(at(now + 1_200_000).acts);
  });

  it('says first what it does to what, what it affects and who asks; the rest is folded', () => {
    const { card, rest } = partsOf({}, { card: reviewCard(record(), { now, via: 'editor' }) });
    const order = [
      'VM 100',
      'interrupts what runs there',
      'It has been up for 3 days.',
      'Now, in the cluster',
      'MCP “Laptop”',
      'the disk is full',
    ];
    const places = order.map((part) => textOf(card).indexOf(part));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
    expect(rest.match(/<details id="[\w-]+">/g)).toHaveLength(3);
    for (const part of ['policyVersion', 'req-0123abcd', '"vmid": 100']) expect(textOf(card)).not.toContain(part);
    expect(textOf(rest)).toContain('&quot;vmid&quot;: 100');
  });

  const held = (...changes: readonly object[]) => ({
    action: { ...draftOf().action, tool: 'apply_held', cluster: null, targets: [{ kind: 'held', id: 'h1', changes, more: 2 }] as never },
  });
  it('shows held changes file by file, unfolded while they are few', () => {
    const change = { path: 'Makefile', kind: 'modify', why: ['make obeys it'], diff: ['@@ -1 +1 @@', '-a', '+<b>\u202e'] };
    const { card } = partsOf(held(change, { path: 'logo.png', kind: 'modify', facts: ['binary, 2 MiB'] }));
    expect(card).toContain('<details id="fold-held-0" open><summary>modify Makefile</summary>');
    expect(card).toContain('<span class="del">  -a\n</span><span class="add">  +&lt;b&gt;\\u{202e}\n</span>');
    expect(textOf(card)).toContain('modify logo.png (binary, 2 MiB)');
    expect(textOf(card)).toContain('And 2 more changes, which are not shown.');
    const long = { ...change, diff: Array.from({ length: 400 }, (_, line) => `+${line}`) };
    const folded = partsOf(held(long, change)).card;
    expect(folded).not.toContain(' open>');
    expect(folded).toContain('+399');
  });

  it('shows what an edit changes, line by line', () => {
    const edit = { path: 'a.conf', edits: [{ old_text: 'one\ntwo\n', new_text: 'one\nthree\n' }] };
    const { card } = partsOf({ action: { ...draftOf().action, tool: 'edit_file', arguments: edit } });
    expect(card).toContain('<span class="del">  -two\n</span><span class="add">  +three\n</span>');
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

  const verbsIn = (markup: string) => [...markup.matchAll(/data-say="run" data-value="(\w+)"/g)].map((match) => match[1]);

  it('has buttons that say a verb, and no id: which request is meant is the panel’s', () => {
    expect(verbsIn(page())).toEqual(['review', 'deny']);
    expect(
      page()
        .match(/<button[^>]*>/g)
        ?.join(''),
    ).not.toContain('req-');
    expect(detailsVerbs).toEqual(expect.arrayContaining(verbsIn(page())));
  });

  it('leads to the approval page where there is one', () => {
    expect(verbsIn(page({}, { page: 'https://banksman.lan' }))).toContain('openPage');
    expect(verbsIn(page({ status: 'denied' }, { page: 'https://banksman.lan' }))).not.toContain('openPage');
  });

  it.each([
    ['denied', {}, []],
    ['consumed', {}, []],
    ['approved', {}, ['revoke']],
    ['pending', { action: { ...draftOf().action, tool: 'write_file' } }, ['review', 'deny', 'showDiff']],
  ] as const)('offers what can still be done with a request that is %s', (status, changes, commands) => {
    expect(verbsIn(page({ status, ...changes }))).toEqual(commands);
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

  it('shows what the cluster says of several guests under the name of each, and what is of none of them last', () => {
    const [web, proxy] = [asIs('VM 100 (web) on pve'), asIs('container 201 (proxy) on pve')];
    const live = [
      { label: say`Now`, value: asIs('running'), about: web },
      { label: say`Also on ${'pve'}`, value: asIs('201 proxy'), about: web },
      { label: say`Now`, value: asIs('stopped'), about: proxy },
      { label: say`${2} more`, value: say`not asked about` },
    ];
    const shown = page({}, { live });
    expect(shown.match(/<h3>[^<]*<\/h3><table>/g)).toHaveLength(2);
    const order = [
      'Now, in the cluster',
      'VM 100 (web) on pve',
      'running',
      '201 proxy',
      'container 201 (proxy) on pve',
      'stopped',
      '2 more',
    ];
    expect(textOf(shown)).toMatch(new RegExp(order.map((part) => part.replace(/[()]/g, '\\$&')).join('[^]*'), 'u'));
    expect(page()).not.toContain('<h3>');
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
        live: [{ label: asIs(nasty), value: asIs(nasty), warns: true }],
        policy: { failed: nasty },
        card: { title: nasty, tampered: false, sections: [{ kind: 'state', lines: [asIs(nasty)] }] },
      },
    );
    expect(shown).not.toContain('<script');
    expect(shown).not.toMatch(/<\/style>|<a /);
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
