/** What every kind of witness is: something elsewhere that gets checkpoints. */
import { checkpointFlaw } from '#audit/compare-trail';
import { parseCheckpoint, parseNote } from '#audit/signed-note';
import type { SignedCheckpoint } from '#kernel/app';
import { Fault } from '#kernel/errors';
import type { Checkpoint, TrailTree } from '#kernel/ports/audit-log';

/** What is sent: the newest checkpoint, and the tree for proofs from older ones. */
export interface Sending extends SignedCheckpoint {
  readonly tree: TrailTree;
  /** What this witness had last, as this machine remembers it. */
  readonly known: number;
  /** The trail that this witness had last, where it is another than this one. */
  readonly other?: string;
  readonly signal: AbortSignal;
}

/** Resolves with what the witness answered that is worth keeping (cosignatures, the place of a token); undefined: nothing. */
export type Send = (sending: Sending) => Promise<string | undefined>;

/** @throws {Fault} `witness_differs` where the trail does not go on from what the witness has: the trail was set back or rewritten, or the witness's copy was */
export async function requireContinued(tree: TrailTree, seen: Checkpoint | undefined): Promise<void> {
  const flaw = seen && (await checkpointFlaw(tree, seen));
  if (flaw !== undefined) throw differs(flaw);
}

export function differs(why: string): Fault {
  return new Fault('witness_differs', why, { next: 'keep the store’s file and what the witness has, and find out who changed which' });
}

/** Checkpoints of one trail in a list of signed notes, oldest first. What is none is left out. */
export function checkpointsIn(list: string, origin?: string): readonly Checkpoint[] {
  const parts = list.split('\n\n');
  const notes = parts.flatMap((text, at) => {
    const note = parseNote(`${text.replace(/^\n+/, '')}\n\n${parts[at + 1]?.trimEnd() ?? ''}\n`);
    const checkpoint = note && parseCheckpoint(note);
    return checkpoint === undefined ? [] : [checkpoint];
  });
  return origin === undefined ? notes : notes.filter((note) => note.origin === origin);
}
