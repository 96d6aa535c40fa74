/** Snapshots that a plan takes before its own risky steps, and the way back that they are. */
import { randomBytes } from 'node:crypto';
import type { Inverse } from '#kernel/guest-condition';
import { mostSteps, type ProposedStep, type StepRefusal } from '#kernel/plans/plan';

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
  return { tool: 'rollback_snapshot', input, loses: 'what its disks and memory hold by then is lost' };
}
