/** A trail whose first records were dropped because they were old. */
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
import { isJsonObject } from '#kernel/json';
import type { Flaw } from './flaw.ts';

export interface Beginning {
  /** What the first record continues; undefined: it is record 1, or none that could be. */
  before(first: AuditRecord): ChainPoint | undefined;
  see(record: AuditRecord): void;
  /** Asked after the last record. @param anchors those that were not met */
  flaw(anchors: ReadonlyMap<number, string>): Flaw | undefined;
}

/** INVARIANT: a trail that does not begin with record 1 holds a record (`audit.checkpoint`) that names the last one before it. */
export function createBeginning(): Beginning {
  let base: ChainPoint | undefined;
  let isExplained = false;
  return {
    before: ({ sequence, previous }) => {
      base = Number.isSafeInteger(sequence) && sequence > 1 ? { sequence: sequence - 1, hash: previous } : undefined;
      return base;
    },
    see: (record) => {
      isExplained ||= base !== undefined && explains(record, base);
    },
    flaw: (anchors) => {
      if (base === undefined) return undefined;
      const anchored = anchors.get(base.sequence);
      if (anchored !== undefined && anchored !== base.hash) return rewritten(base);
      return isExplained ? undefined : beheaded(base);
    },
  };
}

function explains({ name, attributes }: AuditRecord, base: ChainPoint): boolean {
  if (name !== 'audit.checkpoint' || !isJsonObject(attributes.base)) return false;
  return attributes.base.sequence === base.sequence && attributes.base.hash === base.hash;
}

function rewritten({ sequence }: ChainPoint): Flaw {
  return {
    broken: sequence + 1,
    message: `record ${sequence + 1} does not continue the record that was anchored: the trail was rewritten`,
  };
}

function beheaded({ sequence }: ChainPoint): Flaw {
  return {
    broken: sequence + 1,
    message: `the trail begins with record ${sequence + 1}, and none of its records says that what came before was dropped: it was removed`,
  };
}
