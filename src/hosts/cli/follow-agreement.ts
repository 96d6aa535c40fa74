/** An App for a server that runs for long: it takes over what people agreed to, and says what somebody seems to have done. */
import { checkWorkspace } from '#app/config/paths';
import { createHandOver } from '#app/plans/hand-over';
import type { PlanHandOver } from '#app/plans/plans';
import type { App, CallingApp } from '#kernel/app';
import { type Fault, toFault } from '#kernel/errors';
import { showPlainly } from '#kernel/text/text';
import type { CommandOptions } from './command-line.ts';
import { stderrLog } from './output.ts';
import { type OwnOptions, openApp, withApp } from './session.ts';

/** Between two looks at approvals, pins, configuration and trail. In ms. */
const alarmMs = 30_000;

export type HeldParts = Required<Pick<OwnOptions, 'config' | 'origin' | 'clusterToken'>>;

/** A configuration that somebody else holds, and that may change. */
export interface HeldConfig {
  /** As it is now. @throws {Fault} `bad_config` */
  parts(): HeldParts;
  onChange(listener: () => void): void;
}

/** Works in that folder from the next call on. @throws {Fault} where it is no workspace, or no App opens there now; then everything stays */
export type MoveTo = (folder: string) => Promise<void>;

/** As `withApp`. Once somebody agreed to a change of the configuration, or `held` changed, new calls run with it; calls under way end as they began. */
export async function withFollowedApp<T>(
  options: CommandOptions,
  work: (app: CallingApp, signal: AbortSignal, moveTo: MoveTo) => Promise<T>,
  held?: HeldConfig,
): Promise<T> {
  const handOver: PlanHandOver = createHandOver();
  const stays = (): OwnOptions => ({ stays: true, handOver, ...held?.parts() });
  const follow = async (first: App, signal: AbortSignal): Promise<T> => {
    const { agreement, tools, config } = first;
    let place = options;
    const followed = createFollowed(first, async () => openApp(place, stays()));
    const moveTo: MoveTo = async (folder) => {
      checkWorkspace(folder);
      const before = place;
      place = { ...options, root: folder };
      const failed = await followed.takeOver('the client named its folder');
      if (failed === undefined) return;
      place = before;
      throw failed;
    };
    const watch = setInterval(() => void followed.look(), alarmMs).unref();
    const unfollow = agreement?.onChange(() => void followed.takeOver('somebody agreed to the configuration'));
    held?.onChange(() => void followed.takeOver('the editor’s settings changed'));
    try {
      return await work({ tools, config, ...followed.app }, signal, moveTo);
    } finally {
      clearInterval(watch);
      unfollow?.();
      await handOver.end(new Error('the process is closing'));
      await followed.close();
    }
  };
  return withApp(options, follow, stays());
}

/** What a server of calls needs, always of the App that counts now. */
function calling(now: () => App, call: App['call']): Pick<CallingApp, 'call' | 'announce' | 'live' | 'approvals'> {
  return {
    call,
    announce: (tool, input) => now().announce(tool, input),
    approvals: { get: (id) => now().approvals.get(id), cancel: (id, by) => now().approvals.cancel(id, by) },
    live: {
      get clusters() {
        return now().live.clusters;
      },
    },
  };
}

function createFollowed(first: App, open: () => Promise<App>) {
  let current = { app: first, calls: new Set<Promise<unknown>>() };
  let last: Promise<Fault | undefined> = Promise.resolve(undefined);
  const told = new Set<string>();
  const retire = async ({ app, calls }: typeof current) => {
    await Promise.allSettled(calls);
    // The first is its opener's to close.
    if (app !== first) await app.close();
  };
  const change = async (why: string): Promise<Fault | undefined> => {
    try {
      const old = current;
      current = { app: await open(), calls: new Set() };
      stderrLog.info(`${why}: new calls run with it`);
      void retire(old);
      return undefined;
    } catch (thrown) {
      const fault = toFault(thrown);
      stderrLog.warn(`${why}, and it cannot be used: ${fault.message}`);
      return fault;
    }
  };
  const call: App['call'] = (request) => {
    const { app, calls } = current;
    const running = app.call(request);
    calls.add(running);
    return running.finally(() => calls.delete(running));
  };
  const app = calling(() => current.app, call);
  return {
    app,
    /** @returns why everything stays as it is; undefined: it does not */
    takeOver: (why: string): Promise<Fault | undefined> => {
      last = last.then(() => change(why));
      return last;
    },
    look: async (): Promise<void> => {
      for (const { topic, message } of await current.app.alarms()) {
        if (!told.has(message)) stderrLog.error(`${topic}: ${showPlainly(message, 1_000)}`);
        told.add(message);
      }
    },
    close: async (): Promise<void> => {
      await last;
      await retire(current);
    },
  };
}
