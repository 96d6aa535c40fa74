import { describe, expect, it } from 'vitest';
import { AppSession } from '#hosts/vscode/app-session';
import type { App } from '#kernel/app';
import { Fault } from '#kernel/errors';

/** Apps that only know their name and whether they were closed: what a session looks at. */
function appFactory() {
  const closed: string[] = [];
  const app = (name: string): App => ({ storeLocation: name, close: async () => void closed.push(name) }) as unknown as App;
  return { closed, app };
}

const named = (app: App) => Promise.resolve(app.storeLocation);
const never = () => {};

describe('use', () => {
  it('builds the App on first need, once', async () => {
    const { app } = appFactory();
    let builds = 0;
    const session = new AppSession(async () => app(`app ${++builds}`), never);
    expect(builds).toBe(0);
    expect(await Promise.all([session.use(named), session.use(named)])).toEqual(['app 1', 'app 1']);
    expect(session.state.kind).toBe('ready');
  });

  it('throws what kept the App from being built', async () => {
    const session = new AppSession(() => Promise.reject(new Fault('bad_config', '`clusters.0.name`: wrong')), never);
    await expect(session.use(named)).rejects.toMatchObject({ code: 'bad_config', message: '`clusters.0.name`: wrong' });
    expect(session.state).toMatchObject({ kind: 'problem' });
  });

  it('gives an App after the settings were corrected', async () => {
    const { app } = appFactory();
    let good = false;
    const session = new AppSession(() => (good ? Promise.resolve(app('good')) : Promise.reject(new Fault('bad_config', 'no'))), never);
    await expect(session.use(named)).rejects.toThrow('no');
    good = true;
    session.reload();
    expect(await session.use(named)).toBe('good');
  });

  it('is refused after the window closed', async () => {
    const { app, closed } = appFactory();
    const session = new AppSession(async () => app('one'), never);
    await session.use(named);
    await session.close();
    expect(closed).toEqual(['one']);
    await expect(session.use(named)).rejects.toMatchObject({ code: 'closing' });
    session.reload();
    await expect(session.use(named)).rejects.toMatchObject({ code: 'closing' });
  });
});

describe('reload', () => {
  it('lets a running call end on the old App, which closes after it', async () => {
    const { app, closed } = appFactory();
    let builds = 0;
    const session = new AppSession(async () => app(`app ${++builds}`), never);
    const running = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const call = session.use(async ({ storeLocation }) => {
      started.resolve();
      await running.promise;
      return [storeLocation, [...closed]];
    });
    await started.promise;
    session.reload();
    expect(await session.use(named)).toBe('app 2');
    running.resolve();
    expect(await call).toEqual(['app 1', []]);
    expect(closed).toEqual(['app 1']);
  });

  it('makes new calls wait for the new settings, which may be stricter', async () => {
    const { app } = appFactory();
    const second = Promise.withResolvers<App>();
    const builds = [Promise.resolve(app('lax')), second.promise];
    const session = new AppSession(() => builds.shift() ?? Promise.reject(new Error('unexpected')), never);
    await session.use(named);
    session.reload();
    expect(session.state.kind).toBe('starting');
    const call = session.use(named);
    second.resolve(app('strict'));
    expect(await call).toBe('strict');
  });

  it('overtaken by another one closes what it built', async () => {
    const { app, closed } = appFactory();
    const slow = Promise.withResolvers<App>();
    const builds = [slow.promise, Promise.resolve(app('newer'))];
    const session = new AppSession(() => builds.shift() ?? Promise.reject(new Error('unexpected')), never);
    const call = session.use(named);
    session.reload();
    expect(await session.use(named)).toBe('newer');
    slow.resolve(app('older'));
    expect(await call).toBe('newer');
    await slow.promise;
    await Promise.resolve();
    expect(closed).toEqual(['older']);
  });

  it('to settings that are wrong stops calls, though the old App still runs one', async () => {
    const { app } = appFactory();
    const builds = [Promise.resolve(app('good')), Promise.reject(new Fault('bad_config', 'typo'))];
    builds[1]?.catch(never);
    const session = new AppSession(() => builds.shift() ?? Promise.reject(new Error('unexpected')), never);
    await session.use(named);
    session.reload();
    await expect(session.use(named)).rejects.toThrow('typo');
  });
});

it('tells who listens, in order', async () => {
  const { app } = appFactory();
  const session = new AppSession(async () => app('one'), never);
  const seen: string[] = [];
  const stop = session.onChange(() => seen.push(session.state.kind));
  session.reload();
  await session.use(named);
  stop();
  await session.close();
  expect(seen).toEqual(['starting', 'ready']);
});

it('reports an App that cannot be closed, and goes on', async () => {
  const errors: unknown[] = [];
  const session = new AppSession(
    async () => ({ close: () => Promise.reject(new Error('disk full')) }) as unknown as App,
    (error) => errors.push(error),
  );
  await session.use(async () => {});
  await session.close();
  expect(errors).toEqual([new Error('disk full')]);
});
