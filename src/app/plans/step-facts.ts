/** What a plan's card says of the guests of each step, from live data: locks, what runs on them, and whether they could be restored. */

import { type JsonObject, textOf, wordOf } from '#kernel/json';
import type { Clock } from '#kernel/ports/clock';
import type { ClusterPort } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type Target } from '#kernel/resource';
import { english } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { Impact } from '#kernel/tiers';
import { backupFact } from '#tools/support/operation-facts';

interface FactSources {
  readonly live: ClusterPort;
  /** As the step will find it: with the backups that steps before it make. */
  readonly copy: ClusterPort;
  /** The real one: how old a backup is. */
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface StepFacts {
  /** Asked right before the step runs on the copy. One line a fact, which names its guest. */
  of(targets: readonly Target[], impact: Impact): Promise<readonly string[]>;
}

export function stepFacts({ live, copy, clock, signal }: FactSources): StepFacts {
  let running: Promise<readonly JsonObject[] | undefined> | undefined;
  const factsOf = async (guest: GuestTarget, impact: Impact): Promise<readonly string[]> => {
    running ??= runningTasks(live, signal);
    const [tasks, config, backups] = await Promise.all([
      running,
      copy.guestConfig(guest, signal).catch((): JsonObject => ({})),
      impact === 'disruptive' || impact === 'irreversible' ? backupFact(copy, guest, { clock, signal }) : undefined,
    ]);
    const lock = textOf(config['lock']);
    return [
      ...(lock === undefined ? [] : [`locked by \`${showPlainly(lock, 40)}\``]),
      ...(tasks?.flatMap((task) => taskWords(task, guest)) ?? ['what runs on it could not be read']),
      ...(backups === undefined ? [] : [english(backups)]),
    ];
  };
  return {
    async of(targets, impact) {
      const guests = targets.filter((target) => target.kind === 'guest');
      const lines = await Promise.all(
        guests.map(async (guest) => (await factsOf(guest, impact)).map((fact) => `${describeTarget(guest)}: ${fact}`)),
      );
      return lines.flat();
    },
  };
}

async function runningTasks(live: ClusterPort, signal: AbortSignal): Promise<readonly JsonObject[] | undefined> {
  const recent = await live.recentTasks(signal).catch(() => undefined);
  return recent?.filter((task) => task['endtime'] === undefined);
}

/** A backup job names no guest: which one it has reached its log alone says. */
function taskWords({ type, user, id, node }: JsonObject, guest: GuestTarget): readonly string[] {
  const what = `${showPlainly(wordOf(type), 40)} by ${showPlainly(wordOf(user), 60)}`;
  if (wordOf(id) === String(guest.vmid)) return [`a task runs on it: ${what}`];
  return type === 'vzdump' && wordOf(id) === '' && node === guest.node ? [`a backup job runs on its node: ${what}`] : [];
}
