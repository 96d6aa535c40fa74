import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HumanGate } from '#kernel/app';

/** The editor's progress, as it was asked for: no editor runs here. */
const shown = vi.hoisted((): { location: number; cancellable: boolean; ended: boolean }[] => []);
vi.mock('vscode', () => ({
  ProgressLocation: { SourceControl: 1, Window: 10, Notification: 15 },
  window: {
    withProgress: ({ location, cancellable }: { location: number; cancellable: boolean }, task: (...parts: unknown[]) => Promise<void>) => {
      const one = { location, cancellable, ended: false };
      shown.push(one);
      const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };
      return task({ report: () => undefined }, token).then(() => {
        one.ended = true;
      });
    },
  },
}));

const { showCallProgress } = await import('#hosts/vscode/tools/call-progress');

const inStatusBar = 10;
const notification = 15;
const gate: HumanGate = { ask: () => undefined };
const longest = 10 * 60_000;

beforeEach(() => {
  shown.length = 0;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

describe('a call whose progress stands in the chat, as `@banksman`’s does', () => {
  it('puts up no notification, however long it takes', async () => {
    const progress = showCallProgress('Banksman: Run command', gate, undefined);
    await vi.advanceTimersByTimeAsync(longest);
    expect(shown).toEqual([{ location: inStatusBar, cancellable: false, ended: false }]);
    progress.end();
    await vi.advanceTimersByTimeAsync(longest);
    expect(shown).toEqual([{ location: inStatusBar, cancellable: false, ended: true }]);
  });

  it('puts up none after a person was asked, either', async () => {
    const answered = new AbortController();
    const progress = showCallProgress('Banksman: Stop VM', gate, undefined);
    progress.gate.ask({} as never, answered.signal);
    await vi.advanceTimersByTimeAsync(longest);
    answered.abort();
    await vi.advanceTimersByTimeAsync(longest);
    progress.end();
    expect(shown.map(({ location }) => location)).toEqual([inStatusBar]);
  });

  it('is each call that the participant makes', () => {
    const folder = path.join(import.meta.dirname, '../../../../../src/hosts/vscode/participant');
    const sources = globSync('*.ts', { cwd: folder }).map((file) => readFileSync(path.join(folder, file), 'utf8'));
    const runs = sources.flatMap((source) => source.split(/\brunTool\(/).slice(1));
    expect(runs.length).toBeGreaterThan(1);
    expect(runs.filter((run) => !/^[^;]*\bisShownThere: true,/.test(run))).toEqual([]);
  });
});

describe('a call from elsewhere', () => {
  it('has a notification with Cancel in the place of the status bar’s word, once it takes long', async () => {
    const progress = showCallProgress('Banksman: Run command', gate, () => undefined);
    await vi.advanceTimersByTimeAsync(longest);
    expect(shown).toEqual([
      { location: inStatusBar, cancellable: false, ended: true },
      { location: notification, cancellable: true, ended: false },
    ]);
    progress.end();
  });

  it('has none while a person is asked', async () => {
    const answered = new AbortController();
    const progress = showCallProgress('Banksman: Stop VM', gate, () => undefined);
    progress.gate.ask({} as never, answered.signal);
    await vi.advanceTimersByTimeAsync(longest);
    expect(shown.map(({ location }) => location)).toEqual([inStatusBar]);
    progress.end();
  });
});
