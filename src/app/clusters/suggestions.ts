/** What looks as if it should be protected and is not: for `doctor`, and for who has just connected a cluster. */

import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { Finding, ProtectionSuggestion } from '#kernel/app';
import { reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { english, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { readRadius } from '#pipeline/losses';
import { type OwnMachine, type Suggestion, suggestProtection } from '#policy/blast/suggest-protection';
import { parseJson } from '../config/config-file.ts';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';
import { finding } from '../finding.ts';
import type { ConnectedClusters } from './connect-clusters.ts';

/** As many as a person reads. */
const mostShown = 20;
/** In ms: `doctor` has more to look at. */
const lookMs = 8_000;

export async function suggestionFindings(clusters: ConnectedClusters, caller: AbortSignal): Promise<readonly Finding[]> {
  return (await protectionSuggestions(clusters, caller)).map(findingOf);
}

export async function protectionSuggestions(
  { configured, live }: ConnectedClusters,
  caller: AbortSignal,
): Promise<readonly ProtectionSuggestion[]> {
  const signal = AbortSignal.any([caller, AbortSignal.timeout(lookMs)]);
  const found = await Promise.all([...configured.keys()].map((cluster) => suggestedOf(cluster, { configured, live }, signal)));
  return found.flatMap((some) => some ?? []).slice(0, mostShown);
}

/** undefined: the cluster could not be asked, which has a finding of its own. */
async function suggestedOf(
  cluster: string,
  { configured, live }: Pick<ConnectedClusters, 'configured' | 'live'>,
  signal: AbortSignal,
): Promise<readonly ProtectionSuggestion[] | undefined> {
  const access = configured.get(cluster)?.access;
  if (access === undefined) return undefined;
  try {
    const [{ facts, rows }, known] = await Promise.all([readRadius(access.api, signal), live.protectedNames(cluster, signal)]);
    const names = new Map(rows.flatMap(({ vmid, name }) => (name === undefined ? [] : [[vmid, name] as const])));
    const open = suggestProtection(facts, ownMachine(), (vmid) => names.get(vmid)).filter((one) => !isKnown(one, known));
    return open.map((one): ProtectionSuggestion => {
      const called = one.kind === 'guest' ? names.get(Number(one.name)) : undefined;
      return { cluster, ...one, ...(called === undefined ? {} : { called }) };
    });
  } catch {
    return undefined;
  }
}

export interface ProtectionOffer {
  /** Says it once of each cluster; never rejects. */
  tell(signal: AbortSignal): Promise<void>;
}

/** In the state directory: the clusters of which it was said. */
const toldFile = 'protection-offered.json';
const toldSchema = z.array(z.string());

/** For who starts without an editor: the first time that a cluster can be asked. `doctor` says it every time. */
export function createProtectionOffer(
  clusters: Pick<ConnectedClusters, 'configured' | 'live'>,
  { stateDir, log, remedy }: { readonly stateDir: string; readonly log: Log; readonly remedy: string },
): ProtectionOffer {
  const file = join(stateDir, toldFile);
  const tellOf = async (cluster: string, signal: AbortSignal): Promise<readonly string[]> => {
    const found = await suggestedOf(cluster, clusters, signal);
    if (found === undefined) return [];
    if (found.length > 0)
      log.warn(`nothing protects what looks as if agents should not touch it: ${listedWords(cluster, found)}; ${remedy}`);
    return [cluster];
  };
  return {
    async tell(caller) {
      try {
        const told = toldSchema.parse(parseJson((await readPrivateFile(file)) ?? '[]', file));
        const open = [...clusters.configured.keys()].filter((cluster) => !told.includes(cluster));
        if (open.length === 0) return;
        const signal = AbortSignal.any([caller, AbortSignal.timeout(lookMs)]);
        const now = (await Promise.all(open.map((cluster) => tellOf(cluster, signal)))).flat();
        if (now.length > 0) await replacePrivateFile(stateDir, toldFile, `${JSON.stringify([...told, ...now])}\n`);
      } catch (thrown) {
        log.debug(`what to protect: ${reasonOf(thrown)}`);
      }
    },
  };
}

/** As many as fit on a line. */
const mostListed = 5;

function listedWords(cluster: string, found: readonly ProtectionSuggestion[]): string {
  const words = found.slice(0, mostListed).map(({ kind, name, called, why }) => `${kind} ${name}${calledWords(called)} ${english(why)}`);
  const more = found.length > words.length ? [`${found.length - words.length} more`] : [];
  return `on \`${cluster}\` ${[...words, ...more].join(', ')}`;
}

function calledWords(called: string | undefined): string {
  return called === undefined ? '' : ` (${showPlainly(called, 60)})`;
}

function isKnown({ kind, name }: Suggestion, { guests, nodes }: Awaited<ReturnType<ConnectedClusters['live']['protectedNames']>>): boolean {
  return kind === 'guest' ? guests.has(Number(name)) : nodes.has(name);
}

function findingOf({ cluster, kind, name, why, called: guestName }: ProtectionSuggestion): Finding {
  const called = calledWords(guestName);
  const what = kind === 'guest' ? say`guest ${name}` : say`node ${name}`;
  const entry = kind === 'guest' ? `{ "vmid": ${name}, "reason": "…" }` : `{ "name": "${name}", "reason": "…" }`;
  const message = say`${what}${called} of \`${cluster}\` ${why}, and is not protected`;
  return finding('protected', 'warning', message, say`if agents should not touch it, write ${entry} into \`protected.${kind}s\``);
}

function ownMachine(): OwnMachine {
  const addresses = Object.values(networkInterfaces()).flatMap((some = []) =>
    some.filter(({ internal }) => !internal).map(({ address }) => address),
  );
  const [name = ''] = hostname().split('.');
  return { addresses, name: name === 'localhost' ? '' : name, ids: ['/etc/machine-id', '/sys/class/dmi/id/product_uuid'].flatMap(idIn) };
}

/** None where the system has no such file, or it is for root alone. */
function idIn(file: string): readonly string[] {
  try {
    const id = readFileSync(file, 'utf8').trim().replaceAll('-', '').toLowerCase();
    return /^[0-9a-f]{32}$/.test(id) ? [id] : [];
  } catch {
    return [];
  }
}
