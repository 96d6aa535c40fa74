/** What looks as if it should be protected and is not: for `doctor`, which a person reads before agents touch anything. */
import { networkInterfaces } from 'node:os';
import type { Finding } from '#kernel/app';
import { showPlainly } from '#kernel/text/text';
import { readRadius } from '#pipeline/losses';
import { type Suggestion, suggestProtection } from '#policy/blast/suggest-protection';
import type { ConnectedClusters } from './connect-clusters.ts';

/** As many as a person reads. */
const mostShown = 20;
/** In ms: `doctor` has more to look at. */
const lookMs = 8_000;

export async function protectionSuggestions({ configured, live }: ConnectedClusters, caller: AbortSignal): Promise<readonly Finding[]> {
  const signal = AbortSignal.any([caller, AbortSignal.timeout(lookMs)]);
  const found = await Promise.all(
    [...configured].map(async ([cluster, { access }]) => {
      try {
        const [{ facts, rows }, known] = await Promise.all([readRadius(access.api, signal), live.protectedNames(cluster, signal)]);
        const names = new Map(rows.flatMap(({ vmid, name }) => (name === undefined ? [] : [[vmid, name] as const])));
        const open = suggestProtection(facts, ownAddresses(), (vmid) => names.get(vmid)).filter((one) => !isKnown(one, known));
        return open.map((one) => finding(cluster, one, names.get(Number(one.name))));
      } catch {
        // A cluster that cannot be asked has a finding of its own.
        return [];
      }
    }),
  );
  return found.flat().slice(0, mostShown);
}

function isKnown({ kind, name }: Suggestion, { guests, nodes }: Awaited<ReturnType<ConnectedClusters['live']['protectedNames']>>): boolean {
  return kind === 'guest' ? guests.has(Number(name)) : nodes.has(name);
}

function finding(cluster: string, { kind, name, why }: Suggestion, guestName: string | undefined): Finding {
  const called = guestName === undefined || kind === 'node' ? '' : ` (${showPlainly(guestName, 60)})`;
  const entry = kind === 'guest' ? `{ "vmid": ${name}, "reason": "…" }` : `{ "name": "${name}", "reason": "…" }`;
  return {
    topic: 'protected',
    state: 'warning',
    message: `${kind} ${name}${called} of \`${cluster}\` ${why}, and is not protected`,
    remedy: `if agents should not touch it, write ${entry} into \`protected.${kind}s\``,
  };
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((some = []) => some.filter(({ internal }) => !internal).map(({ address }) => address));
}
