import { describe, expect, it } from 'vitest';
import { type CallApprovals, createApprovals } from '#approval/approvals';
import { verifyGrant } from '#approval/grant';
import { trustButton } from '#hosts/vscode/gate/confirm-run';
import {
  approveAndRunButton,
  approveButton,
  denyButton,
  detailsButton,
  pageButton,
  type ReviewDeps,
  reviewRequest,
  settleButton,
} from '#hosts/vscode/gate/review';
import type { Approvals } from '#kernel/app';
import type { ApproverKey } from '#kernel/approval/answer';
import type { RequestDraft, RequestRecord } from '#kernel/approval/request';
import type { Store } from '#kernel/ports/store';
import type { SecurityLevel } from '#kernel/tiers';
import {
  type Approver,
  createApprover,
  createFakeClock,
  draftOf,
  type FakeClock,
  opened,
  openTestStore,
  stopAction,
} from '../../../../integration/stores/store-fixtures.ts';
import { byClock, codeOn, type PersonScript, type ScriptedPerson, scriptedPerson } from './scripted-person.ts';

interface Scene {
  readonly store: Store;
  readonly clock: FakeClock;
  readonly approvals: Approvals & CallApprovals;
  readonly approver: Approver;
  readonly pinned: ApproverKey[];
  readonly record: RequestRecord;
  readonly person: ScriptedPerson;
  /** Ids whose page was opened. */
  readonly details: string[];
  /** Ids whose call was run by hand. */
  readonly ran: string[];
  review(id?: string): ReturnType<typeof reviewRequest>;
  now(): Promise<RequestRecord | undefined>;
}

interface SceneOptions extends PersonScript {
  readonly draft?: RequestDraft;
  readonly level?: SecurityLevel;
  readonly keyIsPinned?: boolean;
  readonly alarms?: readonly string[];
  /** A call waits for the answer, for this long. */
  readonly waitsMs?: number;
  readonly deps?: (deps: ReviewDeps) => Partial<ReviewDeps>;
  /** What somebody made of the stored record. */
  readonly stored?: (record: RequestRecord) => RequestRecord;
}

async function scene(options: SceneOptions): Promise<Scene> {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const approver = createApprover();
  const pinned: ApproverKey[] = options.keyIsPinned === false ? [] : [approver.pinned];
  const get = async (id: string) => {
    const found = await store.requests.get(id);
    return found && (options.stored?.(found) ?? found);
  };
  const approvals = createApprovals({
    requests: { ...store.requests, get },
    audit: store.audit,
    clock,
    via: 'editor',
    level: () => options.level ?? 'balanced',
    trustedKeys: async () => pinned,
    pinKey: async (key) => void pinned.push(key),
  });
  const person = scriptedPerson(options);
  const details: string[] = [];
  const ran: string[] = [];
  const record = await opened(store, options.draft ?? draftOf());
  if (options.waitsMs !== undefined) await store.requests.noteWait(record.id, 'a call', options.waitsMs);
  const deps: ReviewDeps = {
    approvals,
    dialogs: person.dialogs,
    signer: async () => approver.signer,
    now: person.now,
    person: 'user:alice',
    configFile: '/home/alice/.config/banksman/config.json',
    showDetails: async (id) => void details.push(id),
    whyNotHere: async () => undefined,
    runByHand: ({ id }) => void ran.push(id),
    pause: async () => undefined,
    at: byClock(clock),
    alarms: async () => options.alarms ?? [],
  };
  const complete = { ...deps, ...options.deps?.(deps) };
  return {
    ...{ store, clock, approvals, approver, pinned, record, person, details, ran },
    review: (id = record.id) => reviewRequest(id, complete),
    now: () => store.requests.get(record.id),
  };
}

const approves = { press: approveButton };

describe('the dialog', () => {
  it('shows the stored request, Deny first', async () => {
    const { review, person, record } = await scene({ reactions: [{}] });
    await review();
    expect(person.questions).toHaveLength(1);
    expect(person.questions[0]).toMatchObject({
      id: record.id,
      severity: 'warning',
      title: 'Stop VM 100 (web100) on pve?',
      buttons: ['Deny', 'Show Details', 'Approve and Run', 'Approve once'],
    });
    expect(person.questions[0]?.detail).toContain('Target: VM 100 (web100) on pve');
    expect(person.questions[0]?.detail).not.toContain('key');
  });

  it('has a title on one line, for a tall dialog hides all others; a longer one stands whole below it', async () => {
    const long = `Stop VM 100 (${'a-name-of-a-guest-that-goes-on-'.repeat(3)}) on pve`;
    const { review, person } = await scene({ reactions: [{}], draft: draftOf({ title: long }) });
    await review();
    const { title = '', detail = '' } = person.questions[0] ?? {};
    expect(title).toMatch(/^Stop VM 100 \(a-name-of-a-guest-.*…\) on pve\?$/);
    expect(title.length).toBeLessThanOrEqual(52);
    expect(detail.split('\n')[2]).toBe(`${long}?`);
  });

  it('is not shown for a request that nobody made', async () => {
    const { review, person } = await scene({});
    expect(await review('req-ffffffff')).toBe('not_pending');
    expect(person.told).toEqual([{ kind: 'warning', message: 'There is no request req-ffffffff.' }]);
  });

  it.each(['approved', 'denied', 'expired'] as const)('is not shown for a request that is %s', async (how) => {
    const on = await scene({});
    if (how === 'expired') on.clock.advance(3_600_001);
    if (how === 'denied') await on.approvals.deny(on.record.id, 'user:bob');
    if (how === 'approved') await on.approvals.approve(on.record.id, on.approver.signer);
    expect(await on.review()).toBe('not_pending');
    expect(on.person.questions).toEqual([]);
    expect(on.person.told[0]?.message).toContain(how === 'expired' ? 'Too late' : `is over already: ${how} by`);
  });
});

describe('an answer', () => {
  it('Approve once signs a grant for exactly this request', async () => {
    const on = await scene({ reactions: [approves] });
    expect(await on.review()).toBe('approved');
    const record = await on.now();
    expect(record?.status).toBe('approved');
    const grant = record?.grants?.[0];
    if (!grant) throw new Error('no grant');
    const { store } = grant.payload;
    const expected = {
      decision: 'approve',
      digest: on.record.digest,
      requestId: on.record.id,
      store,
      now: on.clock.now(),
      pins: on.pinned,
    } as const;
    expect(verifyGrant(grant, expected).ok).toBe(true);
    expect(verifyGrant(grant, { ...expected, digest: 'ab'.repeat(32) }).ok).toBe(false);
    expect(on.person.told).toEqual([{ kind: 'info', message: expect.stringMatching(/^Approved once; .*: Stop VM 100/) }]);
  });

  it('Deny denies, as this person', async () => {
    const on = await scene({ reactions: [{ press: denyButton }] });
    expect(await on.review()).toBe('denied');
    expect(await on.now()).toMatchObject({ status: 'denied', decision: { by: 'user:alice', via: 'editor' } });
  });

  it.each([
    ['what the person adds', () => '  use VM 101 instead  ', 'use VM 101 instead'],
    ['nothing where they add nothing', () => '   ', undefined],
    ['nothing where the window closes meanwhile', () => Promise.reject(new Error('Canceled')), undefined],
  ])('Deny carries %s to the agent', async (_what, note, message) => {
    const on = await scene({ reactions: [{ press: denyButton }], note });
    expect(await on.review()).toBe('denied');
    const record = await on.now();
    expect(record?.status).toBe('denied');
    expect(record?.decision?.message).toBe(message);
  });

  it('Show Details opens the page and decides nothing', async () => {
    const on = await scene({ reactions: [{ press: detailsButton }] });
    expect(await on.review()).toBe('left_pending');
    expect(on.details).toEqual([on.record.id]);
    expect((await on.now())?.status).toBe('pending');
  });

  it('leads to the approval page where there is one, and stays pending', async () => {
    const pages: string[] = [];
    const openPage = async (id: string) => void pages.push(id);
    const on = await scene({ reactions: [{ press: pageButton }], deps: () => ({ openPage }) });
    expect(await on.review()).toBe('left_pending');
    expect(pages).toEqual([on.record.id]);
    expect((await on.now())?.status).toBe('pending');
  });

  it('a reported block is settled, not approved: the other word counts for nothing', async () => {
    const on = await scene({
      reactions: [{ press: approveButton }],
      stored: (record) => ({ ...record, reported: { reason: 'url_blocked', destination: 'evil.example' } }),
    });
    expect(await on.review()).toBe('left_pending');
    expect(on.person.questions[0]?.buttons).toEqual([denyButton, detailsButton, settleButton]);
  });

  it.each([
    ['Esc', {}],
    ['a window that goes away', { windowCloses: true }],
    ['a button that was not offered', { press: 'Yes' }],
    ['the word in another case', { press: 'approve once' }],
  ])('%s leaves it pending', async (_what, reaction) => {
    const on = await scene({ reactions: [reaction] });
    expect(await on.review()).toBe('left_pending');
    expect((await on.now())?.status).toBe('pending');
  });

  it.each([approveButton, denyButton])('%s within 700 ms does not count: the dialog opens again and says so', async (press) => {
    const on = await scene({ reactions: [{ press, after: 699 }, { press, after: 0 }, {}] });
    expect(await on.review()).toBe('left_pending');
    expect((await on.now())?.status).toBe('pending');
    expect(on.person.questions.map((question) => question.detail.includes('did not count'))).toEqual([false, true, true]);
  });

  it('counts from 700 ms on', async () => {
    const on = await scene({ reactions: [{ press: approveButton, after: 700 }] });
    expect(await on.review()).toBe('approved');
  });

  it('after the request expired is ignored, and said', async () => {
    const on = await scene({
      reactions: [
        {
          press: () => {
            on.clock.advance(3_600_001);
            return approveButton;
          },
        },
      ],
    });
    expect(await on.review()).toBe('failed');
    expect((await on.now())?.status).toBe('expired');
    expect(on.person.told[0]?.message).toMatch(/^Too late, nothing runs: Stop VM 100 .*nobody decided/);
  });

  it('after somebody else answered changes nothing, and is said', async () => {
    const on = await scene({
      reactions: [
        {
          press: async () => {
            await on.approvals.deny(on.record.id, 'user:bob');
            return approveButton;
          },
        },
      ],
    });
    expect(await on.review()).toBe('failed');
    expect(await on.now()).toMatchObject({ status: 'denied', decision: { by: 'user:bob' } });
    expect(on.person.told.at(-1)).toEqual({ kind: 'info', message: expect.stringContaining('was already denied by user:bob') });
  });

  it.each<[string, (on: Scene) => unknown, string, string]>([
    ['answered', (on) => on.approvals.deny(on.record.id, 'user:bob'), 'is over: denied by bob. Its', 'is over already'],
    ['out of time', (on) => on.clock.advance(3_600_001), 'is over: expired', 'Too late'],
  ])('to a dialog whose request is %s is told at once and asks for no words', async (_, end, atOnce, answered) => {
    const on: Scene = await scene({
      note: () => expect.fail('nothing is denied, so nobody is asked why'),
      reactions: [
        {
          press: async () => {
            await end(on);
            await expect.poll(() => on.person.told.length).toBe(1);
            return denyButton;
          },
        },
      ],
    });
    expect(await on.review()).toBe('not_pending');
    expect(on.person.told.map(({ message }) => message)).toEqual([expect.stringContaining(atOnce), expect.stringContaining(answered)]);
  });
});

describe('where a call waits', () => {
  it('the dialog says until when, and approving is all there is to do', async () => {
    const on = await scene({ reactions: [{}], waitsMs: 120_000 });
    await on.review();
    expect(on.person.questions[0]?.buttons).toEqual([denyButton, detailsButton, approveButton]);
    expect(on.person.questions[0]?.detail).toMatch(/The call waits for your answer until \d\d:\d\d:\d\d\./);
  });

  it('and stops while the person reads, the approval is not given in silence: the dialog comes again and offers to run it', async () => {
    const on: Scene = await scene({
      waitsMs: 120_000,
      reactions: [
        {
          press: () => {
            on.clock.advance(120_001);
            return approveButton;
          },
        },
        { press: approveAndRunButton },
      ],
    });
    expect(await on.review()).toBe('approved');
    const [first, second] = on.person.questions;
    expect(first?.detail).toContain('The call waits');
    expect(second?.detail).toMatch(/The call stopped waiting while you read this[\s\S]*No call has waited for the answer since/);
    expect(second?.buttons).toEqual([denyButton, detailsButton, approveAndRunButton, approveButton]);
    expect(on.ran).toEqual([on.record.id]);
  });

  it('but was killed, an approval that it does not use is told', async () => {
    const on = await scene({ waitsMs: 120_000, reactions: [approves] });
    expect(await on.review()).toBe('approved');
    await expect
      .poll(() => on.person.told.at(-1)?.message)
      .toMatch(/is approved, but the call that waited has not used it\. The agent may run it until/);
    expect(on.ran).toEqual([]);
  });
});

it('an approval that the waiting call uses is not told as unused', async () => {
  const looked = Promise.withResolvers<void>();
  const on: Scene = await scene({
    waitsMs: 120_000,
    reactions: [approves],
    deps: ({ approvals }) => ({
      pause: async () => void (await on.approvals.consume(on.record.id, on.record.digest, 'the call')),
      approvals: {
        ...approvals,
        get: async (id) => {
          const record = await approvals.get(id);
          if (record?.status === 'consumed') setImmediate(looked.resolve);
          return record;
        },
      },
    }),
  });
  expect(await on.review()).toBe('approved');
  await looked.promise;
  expect(on.person.told.map(({ kind }) => kind)).toEqual(['status']);
});

it('a dialog that is closed already is not told to be over, however late the look at its request ends', async () => {
  const slow = Promise.withResolvers<void>();
  let changed: () => void = () => undefined;
  const on: Scene = await scene({
    reactions: [
      {
        press: () => {
          changed();
          return undefined;
        },
      },
    ],
    deps: ({ approvals }) => ({
      approvals: {
        ...approvals,
        onChange: (listener) => {
          changed = listener;
          return () => undefined;
        },
        get: async (id) => {
          const record = await approvals.get(id);
          if (on.person.questions.length === 0) return record;
          await slow.promise;
          return record && { ...record, status: 'denied' };
        },
      },
    }),
  });
  expect(await on.review()).toBe('left_pending');
  slow.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(on.person.told).toEqual([]);
});

describe('where no call waits', () => {
  it('Approve once says that the agent may run it, and until when', async () => {
    const on = await scene({ reactions: [approves] });
    expect(await on.review()).toBe('approved');
    expect(on.person.told).toEqual([
      {
        // The status bar would cut it off before the time; a notification without a button shows some sixty characters.
        kind: 'info',
        message: expect.stringMatching(
          /^Approved once; the agent may run it until \d\d:\d\d:\d\d, when it asks again: Stop VM 100 \(web100\) on pve \(req-/,
        ),
      },
    ]);
    expect(on.ran).toEqual([]);
  });

  it.each([
    [undefined, /applied here at once/, /five minutes|a process/],
    ['it belongs to another workspace', /cannot apply it: it belongs .*a process .*within five minutes/, /at once|Approve and Run/],
  ])('of held changes says one thing of who applies them: %s', async (whyNot, said, unsaid) => {
    const action = { ...stopAction(), tool: 'apply_held', cluster: null };
    const draft = draftOf({ action });
    const on = await scene({ draft, reactions: [{}], deps: () => ({ whyNotHere: async () => whyNot }) });
    await on.review();
    expect(on.person.questions[0]?.detail).toMatch(said);
    expect(on.person.questions[0]?.detail).not.toMatch(unsaid);
  });

  it('says so above all that may be longer than the dialog, and names both buttons that go on', async () => {
    const on = await scene({ reactions: [{}] });
    await on.review();
    const paragraphs = on.person.questions[0]?.detail.split('\n\n') ?? [];
    expect(paragraphs[0]).toMatch(/^To go on: press “Approve once” or “Approve and Run”, then type /);
    expect(paragraphs[1]).toMatch(/^No call waits for the answer\. .*\nApprove and Run: it runs now, once, as it was asked\./);
    expect(paragraphs[2]).toMatch(/^It interrupts what runs there\./);
    expect(paragraphs.at(-1)).toMatch(/\nRequest req-\w+ can be answered for 1 hour\.$/);
  });

  it('Approve and Run approves and runs', async () => {
    const on = await scene({ reactions: [{ press: approveAndRunButton }] });
    expect(await on.review()).toBe('approved');
    expect((await on.now())?.status).toBe('approved');
    expect(on.ran).toEqual([on.record.id]);
    expect(on.person.told).toEqual([{ kind: 'status', message: 'Approved, and running now: Stop VM 100 (web100) on pve' }]);
  });

  it('Approve and Run runs nothing where the approval failed', async () => {
    const on: Scene = await scene({
      reactions: [
        {
          press: async () => {
            await on.approvals.deny(on.record.id, 'user:bob');
            return approveAndRunButton;
          },
        },
      ],
    });
    expect(await on.review()).toBe('failed');
    expect(on.ran).toEqual([]);
  });

  it('a window that cannot run it says why and does not offer it', async () => {
    const on = await scene({
      reactions: [{ press: approveAndRunButton }],
      deps: () => ({ whyNotHere: async () => 'it belongs to the workspace /home/a on laptop, which is not open here' }),
    });
    expect(await on.review()).toBe('left_pending');
    expect(on.person.questions[0]?.buttons).not.toContain(approveAndRunButton);
    expect(on.person.questions[0]?.detail).toContain(
      'This window cannot run it for the agent: it belongs to the workspace /home/a on laptop',
    );
    expect(on.ran).toEqual([]);
  });
});

describe('the key', () => {
  const trusts = { press: trustButton };

  it('that is new is a question of its own, after the decision, with its fingerprint', async () => {
    const on = await scene({ reactions: [approves, trusts], keyIsPinned: false });
    expect(await on.review()).toBe('approved');
    const [about, key] = on.person.questions;
    expect(about?.detail).not.toContain(on.approver.pinned.key);
    expect(key).toMatchObject({ title: 'Trust the approval key of this window for user:alice?', buttons: ['Do Not Trust', trustButton] });
    for (const part of [on.approver.pinned.key, 'Fingerprint: ', '/home/alice/.config/banksman/config.json'])
      expect(key?.detail).toContain(part);
    expect(on.pinned).toEqual([{ ...on.approver.pinned, kind: 'window' }]);
    expect((await on.now())?.status).toBe('approved');
  });

  it.each([
    [{}],
    [{ press: denyButton }],
    [{ press: approveButton, after: 10 }, {}],
    [approves, {}],
    [approves, { press: 'Do Not Trust' }],
    [approves, { press: trustButton, after: 10 }, {}],
  ])('is not pinned by %j %j %j', async (...reactions) => {
    const on = await scene({ reactions, keyIsPinned: false });
    await on.review();
    expect(on.pinned).toEqual([]);
    expect((await on.now())?.status).not.toBe('approved');
  });

  it('that cannot be pinned approves nothing', async () => {
    const on = await scene({
      reactions: [approves, trusts],
      keyIsPinned: false,
      deps: ({ approvals }) => ({ approvals: { ...approvals, trust: () => Promise.reject(new Error('read-only file system')) } }),
    });
    expect(await on.review()).toBe('failed');
    expect((await on.now())?.status).toBe('pending');
    expect(on.person.told).toEqual([{ kind: 'error', message: expect.stringContaining('read-only file system') }]);
  });

  it('signs nothing but what was shown', async () => {
    const on = await scene({
      reactions: [approves],
      // Whoever asks for the signature hands in another request's payload.
      deps: ({ approvals }) => ({
        approvals: {
          ...approvals,
          approve: async (id, signer) => {
            const payload = JSON.stringify({ version: 1, requestId: id, digest: 'ab'.repeat(32) });
            await signer.sign(new TextEncoder().encode(payload));
            return { ok: true, code: 'approved', message: 'forged' };
          },
        },
      }),
    });
    expect(await on.review()).toBe('failed');
    expect(on.person.told[0]?.message).toContain('changed while it was shown');
  });
});

describe('alarms', () => {
  it('stand on the card, before what it is about', async () => {
    const on = await scene({ reactions: [{}], alarms: ['approvers: `mallory` counts, and no record says who let it'] });
    await on.review();
    expect(on.person.questions[0]?.detail.split('\n\n')[1]).toBe('WARNING: approvers: `mallory` counts, and no record says who let it');
  });
});

describe('what has to be typed', () => {
  const irreversible = draftOf({ impact: 'irreversible' });

  it('is a fresh code that stands on the card, and in no other question', async () => {
    const first = await scene({ reactions: [approves] });
    expect(await first.review()).toBe('approved');
    const code = codeOn(first.person.questions[0]);
    expect(first.person.questions[0]?.detail.split('\n')[0]).toMatch(new RegExp(`, then type ${code}\\.$`));
    expect(code).toMatch(/^[2-9A-HJ-NP-Z]{3}$/);
    // As a word: three characters turn up in digests and times by chance.
    expect(JSON.stringify([first.person.typed, first.person.told, await first.now()])).not.toMatch(new RegExp(`\\b${code}\\b`));
    const second = await scene({ reactions: [approves] });
    await second.review();
    expect(codeOn(second.person.questions[0])).not.toBe(code);
  });

  it('is another one each time the card is shown', async () => {
    const on = await scene({ reactions: [{ ...approves, after: 100 }, approves], type: () => codeOn(on.person.questions[0]) });
    expect(await on.review()).toBe('left_pending');
    expect(on.person.questions).toHaveLength(2);
  });

  it('is the target too where the call is irreversible', async () => {
    const on = await scene({ draft: irreversible, reactions: [approves] });
    expect(await on.review()).toBe('approved');
    expect(codeOn(on.person.questions[0])).toMatch(/^web100 [A-Z0-9]{4}$/);
  });

  it.each([
    ['Esc', () => undefined],
    ['an empty box accepted by command', () => ''],
    ['the name alone', () => 'web100'],
    ['a guessed code', () => 'web100 ZZZZ!'],
    ['the button again', () => approveButton],
  ])('leaves it pending after %s', async (_what, type) => {
    for (const draft of [irreversible, draftOf()]) {
      const on = await scene({ draft, reactions: [approves], type });
      expect(await on.review()).toBe('left_pending');
      expect((await on.now())?.status).toBe('pending');
      expect(on.person.told).toEqual([{ kind: 'info', message: expect.stringContaining('Not approved, it stays pending') }]);
    }
  });

  it('is the target too for disruptive calls at level strict, in any case', async () => {
    const strict = await scene({ level: 'strict', reactions: [approves], type: (_question, onCard) => onCard.toLowerCase() });
    expect(await strict.review()).toBe('approved');
    expect(codeOn(strict.person.questions[0])).toMatch(/^web100 /);
  });
});

describe('a request that was changed in the store', () => {
  const forged = async (press?: string) => {
    const on: Scene = await scene({
      reactions: [{ ...(press === undefined ? {} : { press }) }],
      stored: (record) => ({ ...record, action: { ...record.action, arguments: { vmid: 103 } } }),
    });
    return { on, end: await on.review() };
  };

  it('has no button that approves', async () => {
    const { on, end } = await forged(approveButton);
    expect(end).toBe('tampered');
    expect(on.person.questions).toEqual([expect.objectContaining({ severity: 'error', buttons: ['Deny'] })]);
    expect((await on.now())?.status).toBe('pending');
  });

  it('can be denied', async () => {
    const { on } = await forged(denyButton);
    expect((await on.now())?.status).toBe('denied');
  });
});
