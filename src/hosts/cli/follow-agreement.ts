/** An App for a server that runs for long: it takes over what people agreed to, and says what somebody seems to have done. */
import { createHandOver } from '#app/plans/hand-over';
import type { PlanHandOver } from '#app/plans/plans';
import type { App, CallingApp } from '#kernel/app';
import { toFault } from '#kernel/errors';
import { showPlainly } from '#kernel/text/text';
import type { CommandOptions } from './command-line.ts';
import { stderrLog } from './output.ts';
import { localApp, withApp } from './session.ts';

/** Between two looks at approvals, pins, configuration and trail. In ms. */
const alarmMs = 30_000;

/** As `withApp`. Once somebody agreed to a change of the configuration, new calls run with it; calls under way end as they began. */
export async function withFollowedApp<T>(options: CommandOptions, work: (app: CallingApp, signal: AbortSignal) => Promise<T>): Promise<T> {
  const handOver: PlanHandOver = createHandOver();
  const stays = { stays: true, handOver } as const;
  const follow = async (first: App, signal: AbortSignal): Promise<T> => {
    const { agreement, tools, config } = first;
    const followed = createFollowed(first, () => localApp(options, stays));
    const watch = setInterval(() => void followed.look(), alarmMs).unref();
    const unfollow = agreement?.onChange(followed.takeOver);
    try {
      return await work({ tools, config, ...followed.app }, signal);
    } finally {
      clearInterval(watch);
      unfollow?.();
      await handOver.end(new Error('the process is closing'));
      await followed.close();
    }
  };
  return withApp(options, follow, stays);
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
  let last: Promise<unknown> = Promise.resolve();
  const told = new Set<string>();
  const retire = async ({ app, calls }: typeof current) => {
    await Promise.allSettled(calls);
    // The first is its opener's to close.
    if (app !== first) await app.close();
  };
  const change = async () => {
    try {
      const old = current;
      current = { app: await open(), calls: new Set() };
      stderrLog.info('somebody agreed to the configuration: new calls run with it');
      void retire(old);
    } catch (thrown) {
      stderrLog.warn(`somebody agreed to the configuration, and it cannot be used: ${toFault(thrown).message}`);
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
    takeOver: (): void => {
      last = last.then(change);
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
