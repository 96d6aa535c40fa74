/** What looks as if it should be protected and is not: for `doctor`, and for who has just connected a cluster. */
import { networkInterfaces } from 'node:os';
import type { Finding, ProtectionSuggestion } from '#kernel/app';
import { showPlainly } from '#kernel/text/text';
import { readRadius } from '#pipeline/losses';
import { type Suggestion, suggestProtection } from '#policy/blast/suggest-protection';
import type { ConnectedClusters } from './connect-clusters.ts';

/** As many as a person reads. */
const mostShown = 20;
/** In ms: `doctor` has more to look at. */
const lookMs = 8_000;

export async function suggestionFindings(clusters: ConnectedClusters, caller: AbortSignal): Promise<readonly Finding[]> {
  return (await protectionSuggestions(clusters, caller)).map(finding);
}

export async function protectionSuggestions(
  { configured, live }: ConnectedClusters,
  caller: AbortSignal,
): Promise<readonly ProtectionSuggestion[]> {
  const signal = AbortSignal.any([caller, AbortSignal.timeout(lookMs)]);
  const found = await Promise.all(
    [...configured].map(async ([cluster, { access }]) => {
      try {
        const [{ facts, rows }, known] = await Promise.all([readRadius(access.api, signal), live.protectedNames(cluster, signal)]);
        const names = new Map(rows.flatMap(({ vmid, name }) => (name === undefined ? [] : [[vmid, name] as const])));
        const open = suggestProtection(facts, ownAddresses(), (vmid) => names.get(vmid)).filter((one) => !isKnown(one, known));
        return open.map((one): ProtectionSuggestion => {
          const called = one.kind === 'guest' ? names.get(Number(one.name)) : undefined;
          return { cluster, ...one, ...(called === undefined ? {} : { called }) };
        });
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

function finding({ cluster, kind, name, why, called: guestName }: ProtectionSuggestion): Finding {
  const called = guestName === undefined ? '' : ` (${showPlainly(guestName, 60)})`;
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
