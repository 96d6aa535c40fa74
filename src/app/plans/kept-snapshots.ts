/**
 * Snapshots that plans take before their own risky steps, as ways back: which they are, which are still there, and the plan that cleans
 * them up once a person approves it.
 */

import { randomBytes } from 'node:crypto';
import type { Finding, KeptSnapshot } from '#kernel/app';
import type { RequestRecord } from '#kernel/approval/request';
import { faultMessage } from '#kernel/errors';
import type { Inverse } from '#kernel/guest-condition';
import { wordOf } from '#kernel/json';
import { applyPlanTool, mostSteps, type ProposedStep, type StepRefusal, undoSnapshotPattern } from '#kernel/plans/plan';
import { planIn } from '#kernel/plans/plan-progress';
import type { ClusterPort } from '#kernel/ports/cluster';
import type { RequestStore } from '#kernel/ports/request-store';
import { joined, listed, plural, say } from '#kernel/text/message';
import type { ConfiguredCluster } from '#pipeline/deps';
import { finding } from '../finding.ts';

/** Plans that are looked through, newest first. LIMIT: of those that the store no longer keeps nobody knows what they took. */
const mostPlans = 100;
const dayMs = 86_400_000;
/** Older ones are worth a word. */
const oldMs = 7 * dayMs;

interface Kept {
  readonly requests: Pick<RequestStore, 'list'>;
  readonly clusters: ReadonlyMap<string, ConfiguredCluster>;
  readonly signal: AbortSignal;
}

/** As the clusters have them now. @throws {Fault} when one cannot be asked */
export async function keptSnapshots({ requests, clusters, signal }: Kept): Promise<readonly KeptSnapshot[]> {
  const { records } = await requests.list({ search: applyPlanTool, statuses: ['consumed'], limit: mostPlans });
  const taken = takenBy(records);
  const found = await Promise.all(
    [...taken].map(async ([cluster, guests]) => {
      const api = clusters.get(cluster)?.access.api;
      return api === undefined ? [] : stillThere({ cluster, api, guests, signal });
    }),
  );
  return found.flat();
}

/** Cluster → guest → names, as the plans have them. */
function takenBy(records: readonly RequestRecord[]): ReadonlyMap<string, ReadonlyMap<number, ReadonlySet<string>>> {
  const taken = new Map<string, Map<number, Set<string>>>();
  for (const plan of records.flatMap((record) => planIn(record) ?? [])) {
    const guests = taken.get(plan.cluster) ?? new Map<number, Set<string>>();
    for (const { tool, input } of plan.steps) {
      const { vmid, name } = input;
      if (tool !== 'create_snapshot' || typeof vmid !== 'number' || !undoSnapshotPattern.test(wordOf(name))) continue;
      guests.set(vmid, (guests.get(vmid) ?? new Set()).add(wordOf(name)));
    }
    taken.set(plan.cluster, guests);
  }
  return taken;
}

interface Taken {
  readonly cluster: string;
  readonly api: ClusterPort;
  readonly guests: ReadonlyMap<number, ReadonlySet<string>>;
  readonly signal: AbortSignal;
}

async function stillThere({ cluster, api, guests, signal }: Taken): Promise<readonly KeptSnapshot[]> {
  const rows = await api.guests(signal);
  const lists = await Promise.all(
    [...guests].map(async ([vmid, names]) => {
      const row = rows.find((one) => one.vmid === vmid);
      if (row === undefined) return [];
      const snapshots = await api.snapshots({ vmid, node: row.node, guestType: row.type }, signal);
      return snapshots.flatMap(({ name, snaptime }) =>
        typeof name === 'string' && names.has(name) ? [{ cluster, vmid, name, takenAt: Number(snaptime ?? 0) * 1_000 }] : [],
      );
    }),
  );
  return lists.flat();
}

/** Nothing where no plan took any, or all are gone. */
export async function snapshotFindings(kept: Kept, now: number): Promise<readonly Finding[]> {
  try {
    const snapshots = await keptSnapshots(kept);
    if (snapshots.length === 0) return [];
    const old = snapshots.filter(({ takenAt }) => now - takenAt > oldMs);
    const named = joined(snapshots.slice(0, 5).map(({ vmid, name }) => say`${name} of guest ${vmid}`));
    const which = snapshots.length > 5 ? say`${named} and ${snapshots.length - 5} more` : named;
    const message = plural(
      snapshots.length,
      say`one snapshot that a plan took as a way back is kept: ${which}`,
      say`${snapshots.length} snapshots that plans took as ways back are kept: ${which}`,
    );
    if (old.length === 0) return [finding('plans', 'ok', message)];
    const remedy = say`\`banksman plans clean\` proposes a plan that deletes those that are older than seven days`;
    return [finding('plans', 'warning', say`${message}; ${old.length} are older than seven days`, remedy)];
  } catch (thrown) {
    kept.signal.throwIfAborted();
    const message = say`which snapshots of plans are kept cannot be read: ${faultMessage(thrown)}`;
    return [finding('plans', 'warning', message, say`see the findings of the cluster`)];
  }
}

/** A step with the number that its proposer knows it by. */
export interface NumberedStep extends ProposedStep {
  readonly own: number;
  /** The snapshot that was taken right before it. */
  readonly kept?: string;
}

/** With a snapshot as a step of its own before each that asks for one; or which step cannot have one, and why. */
export function withSnapshots(
  steps: readonly ProposedStep[],
): readonly NumberedStep[] | { readonly step: number; readonly refusal: StepRefusal } {
  const mark = randomBytes(3).toString('hex');
  const useless = steps.findIndex(({ tool, snapshot_first: first }) => first === true && tool === 'delete_guest');
  if (useless >= 0) {
    const message = '`snapshot_first`: a snapshot goes with its guest';
    return { step: useless + 1, refusal: { code: 'invalid_input', message, next: 'make a backup first: backup_guest' } };
  }
  const all = steps.flatMap((step, index): readonly NumberedStep[] => {
    const own = index + 1;
    if (step.snapshot_first !== true) return [{ ...step, own }];
    const name = `bm-${mark}-${own}`;
    const { vmid } = step.arguments;
    const snapshot = { vmid, name, description: `Way back from step ${own} of a plan of an agent's` };
    return [
      { tool: 'create_snapshot', arguments: snapshot, own },
      { ...step, own, kept: name },
    ];
  });
  if (all.length <= mostSteps) return all;
  const message = `with its snapshots the plan has ${all.length} steps, and ${mostSteps} are the most`;
  return { step: steps.length, refusal: { code: 'invalid_input', message, next: 'make two plans of it' } };
}

/** Going back to that snapshot, where the step itself has no way back; what a step deletes comes back with none. */
export function wayBack(inverse: Inverse, { tool, arguments: values, kept }: NumberedStep): Inverse {
  if (!('none' in inverse) || kept === undefined || tool.startsWith('delete_')) return inverse;
  const { vmid, cluster } = values;
  const input = { vmid, name: kept, ...(cluster === undefined ? {} : { cluster }) };
  return { tool: 'rollback_snapshot', input, loses: listed('what its disks and memory hold by then is lost') };
}
