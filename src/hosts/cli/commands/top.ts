/** `banksman top`: clusters, agents and what waits for a person, live. Keys choose and open; an answer is given by `banksman approvals`, with its proof. */
import type { App } from '#kernel/app';
import { toFault } from '#kernel/errors';
import { type CommandOptions, operands } from '../command-line.ts';
import { printError, Refusal } from '../output.ts';
import { screenOf } from '../result-screen.ts';
import { confirmed, untilStopped, withApp } from '../session.ts';
import { type Terminal, withTerminal } from '../terminal.ts';
import { type ClusterFacts, type TopFacts, type TopScreen, topLines } from '../top-screen.ts';
import { runApprovals, showCard } from './approvals.ts';

export async function runTop(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  if (!process.stdout.isTTY)
    throw new Refusal(
      'no_terminal',
      '`top` needs a terminal with a person at it',
      'for programs there is `banksman approvals list --json`',
    );
  let chosen: string | undefined;
  for (;;) {
    const wish = await atScreen(options, chosen);
    if (wish.key === 'quit') return 0;
    chosen = wish.id;
    if (!(await answer(wish, options))) return 0;
  }
}

type Wish = { readonly key: 'quit' } | { readonly key: 'show' | 'approve' | 'deny'; readonly id: string };

/**
 * As if it had been typed: the card, the one-time code and the passphrase are asked for there, on the screen as it was before.
 * @returns whether the person goes back to the screen
 */
async function answer({ key, id }: Exclude<Wish, { key: 'quit' }>, options: CommandOptions): Promise<boolean> {
  try {
    // Also of what is denied: the choice moves on by itself when a request ends.
    await showCard(id, options, key !== 'deny');
    if (key === 'deny') await confirmed('denying', [`Denying ${id} ends it.`], 'deny');
    if (key !== 'show') await runApprovals([key, id], options);
  } catch (thrown) {
    const { message, next } = toFault(thrown);
    printError(`${message}${next === undefined ? '' : `; ${next}`}`);
  }
  return untilStopped((signal) =>
    withTerminal('going on', signal, (terminal) => terminal.ask('\r\nEnter: back to top, Ctrl+C: leave ')).then(
      () => true,
      () => false,
    ),
  );
}

const altScreen = '\u001b[?1049h\u001b[?25l';
const backAgain = '\u001b[?25h\u001b[?1049l';

function atScreen(options: CommandOptions, chosen: string | undefined): Promise<Wish> {
  return untilStopped((signal) =>
    withTerminal('top', signal, (terminal) =>
      withApp(options, async (app) => {
        const leave = () => terminal.say(backAgain);
        // Also when something ends the process meanwhile.
        process.once('exit', leave);
        terminal.say(altScreen);
        try {
          return await watch(app, { terminal, signal, chosen });
        } finally {
          process.off('exit', leave);
          leave();
        }
      }),
    ),
  );
}

interface Watching {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly chosen: string | undefined;
}

async function watch(app: App, { terminal, signal, chosen: first }: Watching): Promise<Wish> {
  const facts = new Facts(app, signal);
  let chosen = first;
  /** Of those that are shown. The one that was chosen before is kept until there is something to choose from. */
  const current = () => {
    const ids = facts.now().waiting.map(({ id }) => id);
    if (ids.length > 0 && !ids.includes(chosen ?? '')) chosen = ids[0];
    return ids.length > 0 ? chosen : undefined;
  };
  const paint = () => {
    const lines = topLines(facts.now(), current(), sizeNow());
    // Each line is cleared to its end and the rest of the screen below: nothing is blank for a moment.
    terminal.say(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`);
  };
  const stop = facts.follow(paint);
  process.stdout.on('resize', paint);
  try {
    paint();
    for (;;) {
      const key = await terminal.key();
      const wish = wishOf(key, chosen);
      if (wish !== undefined) return wish;
      chosen = moved(
        facts.now().waiting.map(({ id }) => id),
        chosen,
        key,
      );
      paint();
    }
  } finally {
    process.stdout.off('resize', paint);
    stop();
  }
}

/** undefined: the key moves, or means nothing. No key at all: the terminal is gone, or it was stopped. */
function wishOf(key: string | undefined, chosen: string | undefined): Wish | undefined {
  if (key === undefined || ['q', 'Q', '\u0003', '\u0004'].includes(key)) return { key: 'quit' };
  const verb = { a: 'approve', d: 'deny', '\r': 'show', '\n': 'show' } as const;
  return chosen !== undefined && Object.hasOwn(verb, key) ? { key: verb[key as keyof typeof verb], id: chosen } : undefined;
}

const steps: Readonly<Record<string, number>> = { '\u001b[A': -1, k: -1, '\u001b[B': 1, j: 1, '\u001b[5~': -10, '\u001b[6~': 10 };

function moved(ids: readonly string[], chosen: string | undefined, key: string | undefined): string | undefined {
  const step = Object.hasOwn(steps, key ?? '') ? (steps[key ?? ''] ?? 0) : 0;
  const at = ids.indexOf(chosen ?? '');
  return ids[Math.min(ids.length - 1, Math.max(0, at + step))] ?? chosen;
}

function sizeNow(): TopScreen {
  return { ...screenOf(process.stdout), height: process.stdout.rows || 24 };
}

const clusterMs = 10_000;
const tickMs = 1_000;
const mostWaiting = 200;

/** What is known now. Clusters are asked every ten seconds, as the editor's view does; requests when the store rings. */
class Facts {
  readonly #app: App;
  readonly #signal: AbortSignal;
  /** Asked, and not answered yet. */
  readonly #asked = new Set<string>();
  #clusters: readonly ClusterFacts[];
  #rest: Omit<TopFacts, 'clusters' | 'now'> = { level: '…', isPaused: false, failed: 'looking', waiting: [], more: false, attempts: [] };

  constructor(app: App, signal: AbortSignal) {
    this.#app = app;
    this.#signal = signal;
    this.#clusters = app.live.clusters.map((name) => ({ name, resources: [], failed: 'looking' }));
  }

  now(): TopFacts {
    return { ...this.#rest, clusters: this.#clusters, now: Date.now() };
  }

  /** @returns ends it */
  follow(changed: () => void): () => void {
    const ended = new AbortController();
    const signal = AbortSignal.any([this.#signal, ended.signal]);
    const tell = () => {
      if (!signal.aborted) changed();
    };
    const requests = () => void this.#readRequests().then(tell);
    const clusters = () => {
      for (const name of this.#app.live.clusters) void this.#readCluster(name, signal).then(tell, tell);
    };
    const timers = [setInterval(tell, tickMs), setInterval(requests, clusterMs), setInterval(clusters, clusterMs)];
    const unsubscribe = this.#app.approvals.onChange(requests);
    requests();
    clusters();
    return () => {
      ended.abort();
      unsubscribe();
      timers.forEach(clearInterval);
    };
  }

  async #readRequests(): Promise<void> {
    try {
      this.#rest = await this.#waiting();
    } catch (thrown) {
      // As for a cluster: what was seen last stays, and says that it is old.
      this.#rest = { ...this.#rest, failed: toFault(thrown).message };
    }
  }

  async #waiting(): Promise<Omit<TopFacts, 'clusters' | 'now'>> {
    const { approvals, security, attempts } = this.#app;
    const [page, level, running] = await Promise.all([
      approvals.list({ statuses: ['pending'], limit: mostWaiting }),
      security.level(),
      attempts.list(),
    ]);
    return {
      level: level.level,
      isPaused: level.paused !== undefined,
      waiting: page.records.toSorted((a, b) => a.createdAt - b.createdAt),
      more: page.cursor !== undefined,
      attempts: running,
    };
  }

  async #readCluster(name: string, signal: AbortSignal): Promise<void> {
    if (this.#asked.has(name)) return;
    this.#asked.add(name);
    const put = (next: (before: ClusterFacts) => ClusterFacts) => {
      this.#clusters = this.#clusters.map((one) => (one.name === name ? next(one) : one));
    };
    try {
      const { resources } = await this.#app.live.overview(name, signal);
      put(() => ({ name, resources }));
    } catch (thrown) {
      // What was seen last stays, and says that it is old.
      put((before) => ({ ...before, failed: toFault(thrown).message }));
    } finally {
      this.#asked.delete(name);
    }
  }
}
