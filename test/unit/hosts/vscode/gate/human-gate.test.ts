import { describe, expect, it } from 'vitest';
import { createModalQueue } from '#hosts/vscode/gate/confirm-run';
import { createWindowGate, type WindowGate } from '#hosts/vscode/gate/human-gate';
import type { ReviewEnd } from '#hosts/vscode/gate/review';
import type { RequestRecord } from '#kernel/approval/request';
import { draftOf } from '../../../../integration/stores/store-fixtures.ts';
import { type PersonScript, scriptedPerson } from './scripted-person.ts';

function requestOf(id: string): RequestRecord {
  return { ...draftOf(), id, status: 'pending', createdAt: 0, expiresAt: 3_600_000 };
}

/** Dialogs stay open until the test answers them. */
function stage(script: PersonScript = {}) {
  const open: { readonly id: string; readonly close: (end: ReviewEnd) => void }[] = [];
  const waiting: (() => void)[] = [];
  const person = scriptedPerson(script);
  const gate: WindowGate = createWindowGate({
    queue: createModalQueue(),
    dialogs: person.dialogs,
    review: (id) =>
      new Promise((close) => {
        open.push({ id, close });
        for (const wake of waiting.splice(0)) wake();
      }),
  });
  const shown = async (count: number) => {
    while (open.length < count) await new Promise<void>((wake) => waiting.push(wake));
    return open.map(({ id }) => id);
  };
  return { gate, person, open, shown };
}

describe('the window’s gate', () => {
  it('shows one dialog at a time, in the order of the calls', async () => {
    const { gate, open, shown } = stage();
    const still = new AbortController().signal;
    gate.ask(requestOf('req-00000001'), still);
    gate.ask(requestOf('req-00000002'), still);
    expect(await shown(1)).toEqual(['req-00000001']);
    open[0]?.close('approved');
    expect(await shown(2)).toEqual(['req-00000001', 'req-00000002']);
  });

  it('asks once about a request that two calls wait for', async () => {
    const { gate, open, shown } = stage();
    const still = new AbortController().signal;
    gate.ask(requestOf('req-00000001'), still);
    const reviewed = gate.review('req-00000001');
    await shown(1);
    open[0]?.close('denied');
    expect(await reviewed).toBe('denied');
    expect(open).toHaveLength(1);
  });

  it('does not show a dialog out of nowhere when the call behind it has ended', async () => {
    const { gate, open, shown } = stage();
    const ended = new AbortController();
    gate.ask(requestOf('req-00000001'), new AbortController().signal);
    gate.ask(requestOf('req-00000002'), ended.signal);
    gate.ask(requestOf('req-00000003'), new AbortController().signal);
    await shown(1);
    ended.abort();
    open[0]?.close('approved');
    expect(await shown(2)).toEqual(['req-00000001', 'req-00000003']);
  });

  it('does show it when a person asked for it meanwhile', async () => {
    const { gate, open, shown } = stage();
    const ended = new AbortController();
    gate.ask(requestOf('req-00000001'), new AbortController().signal);
    gate.ask(requestOf('req-00000002'), ended.signal);
    await shown(1);
    const reviewed = gate.review('req-00000002');
    ended.abort();
    open[0]?.close('approved');
    expect(await shown(2)).toEqual(['req-00000001', 'req-00000002']);
    open[1]?.close('approved');
    expect(await reviewed).toBe('approved');
  });

  it('after Esc offers the dialog again, while the call waits', async () => {
    const { gate, person, open, shown } = stage({ takesOffers: true });
    gate.ask(requestOf('req-00000001'), new AbortController().signal);
    await shown(1);
    open[0]?.close('left_pending');
    expect(await shown(2)).toEqual(['req-00000001', 'req-00000001']);
    expect(person.offers).toEqual(['You left it unanswered: Stop VM 100 (web100) on pve.']);
  });

  it('after Esc says nothing when the call has ended', async () => {
    const { gate, person, open, shown } = stage();
    const ended = new AbortController();
    gate.ask(requestOf('req-00000001'), ended.signal);
    await shown(1);
    ended.abort();
    open[0]?.close('left_pending');
    // The next dialog is behind everything that the first one left to do.
    gate.ask(requestOf('req-00000002'), new AbortController().signal);
    await shown(2);
    expect(person.offers).toEqual([]);
  });

  it('goes on after a dialog that could not be shown', async () => {
    const person = scriptedPerson({});
    const gate = createWindowGate({
      queue: createModalQueue(),
      dialogs: person.dialogs,
      review: (id) => (id === 'req-00000001' ? Promise.reject(new Error('no store')) : Promise.resolve('approved')),
    });
    expect(await Promise.all([gate.review('req-00000001'), gate.review('req-00000002')])).toEqual(['failed', 'approved']);
    expect(person.told).toEqual([{ kind: 'error', message: expect.stringContaining('no store') }]);
  });
});
