/** Waits until the product has found out what came of every call, then reckons up. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalApp } from '#app/create-app';
import type { Crew } from './crew.ts';
import type { Fleet } from './machine.ts';
import { type Reckoning, reckon } from './reconcile.ts';

/** What is looked up is looked at again for at most so long, in ms: a look each minute, twice. */
const patience = 240_000;

export async function settle(fleet: Fleet, crew: Crew): Promise<Reckoning> {
  const app = await openPatiently(fleet);
  try {
    const limit = Date.now() + patience;
    while (Date.now() < limit && (await isLookedAt(app))) await sleep(1_000);
    return await reckon(app, { told: crew.told, effects: fleet.effectFiles, answers: crew.answers, killed: crew.killed });
  } finally {
    await app.close();
  }
}

async function openPatiently(fleet: Fleet): Promise<LocalApp> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await fleet.inside();
    } catch (thrown) {
      if (tries === 50) throw thrown;
      await sleep(200);
    }
  }
}

async function isLookedAt(app: LocalApp): Promise<boolean> {
  return (await app.attempts.list()).some(({ standing }) => standing !== 'unknown');
}
