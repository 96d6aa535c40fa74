/** What the trail says of approvals that no answer was recorded for, and everything else that a person should hear of without asking. */

import { isSameKey } from '#approval/keys';
import { isChained, recordsOf } from '#audit/verify-trail';
import type { Finding } from '#kernel/app';
import type { ApproverKey } from '#kernel/approval/answer';
import type { AuditRecord } from '#kernel/audit-event';
import type { JsonObject, JsonValue } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import { say } from '#kernel/text/message';
import { type Attempts, attemptFindings } from './attempts/attempts.ts';
import type { AppAgreement } from './config/config-agreement.ts';
import { failedFinding, finding } from './finding.ts';
import { type ApproverParts, approverFindings } from './people/approver-findings.ts';
import type { TrailMemory } from './store/trail-memory.ts';

/** What has been read of the trail so far; a look goes on from there. */
export interface TrailWatch {
  look(): Promise<Seen>;
}

interface Seen {
  /** Approvals that were used though no record says that anybody gave them. */
  readonly unanswered: readonly string[];
  /** Keys that a record announced. */
  readonly announced: readonly string[];
  /** What was agreed to last; undefined: no record says anything of it. */
  readonly agreed: string | undefined;
  /** Whether the beginning is among what was read: then what is missing was never there. */
  readonly whole: boolean;
}

/** Of a longer trail the beginning is left out: a window looks at this each minute. */
const mostRead = 20_000;

export function createTrailWatch(audit: Pick<AuditLog, 'read' | 'head'>): TrailWatch {
  const requested = new Set<string>();
  const answered = new Set<string>();
  const unanswered = new Set<string>();
  const announced = new Set<string>();
  let agreed: string | undefined;
  let at: number | undefined;
  let whole = false;
  const noted: Partial<Record<AuditRecord['name'], (attributes: JsonObject, id: string) => void>> = {
    'approval.requested': (_attributes, id) => void requested.add(id),
    'approval.approved': (_attributes, id) => void answered.add(id),
    'approval.consumed': (_attributes, id) => {
      // Of a request that was made before what was read nothing is known.
      if (requested.has(id) && !answered.has(id)) unanswered.add(id);
    },
    'approver.trusted': ({ key }) => void announced.add(textOf(key)),
    'policy.changed': ({ change, digest, approvers }) => {
      if (change !== 'configuration_agreed') return;
      agreed = textOf(digest);
      for (const key of Array.isArray(approvers) ? approvers : []) announced.add(textOf(key));
    },
  };
  return {
    look: async () => {
      // Chains of several writers are in no one order: an approval may come in after its use.
      const head = isChained(audit) ? undefined : await audit.head();
      if (head !== undefined) {
        at ??= Math.max(0, head.sequence - mostRead);
        if (at === 0) whole = true;
        for await (const record of recordsOf(audit, at)) {
          noted[record.name]?.(record.attributes, textOf(record.attributes['request_id']));
          at = record.sequence;
        }
      }
      return { unanswered: [...unanswered], announced: [...announced], agreed, whole };
    },
  };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

export interface AlarmParts extends ApproverParts {
  readonly agreement: Pick<AppAgreement, 'findings' | 'digest' | 'isRoots'>;
  readonly trail: TrailWatch;
  readonly attempts: Pick<Attempts, 'ofPeople'>;
  readonly memory: Pick<TrailMemory, 'alarm'>;
}

/** What is wrong, the rest of `doctor` aside. Never rejects. */
export async function alarms(parts: AlarmParts): Promise<readonly Finding[]> {
  const lost = await parts.memory.alarm().catch(() => undefined);
  const all = [...(await approverFindings(parts)), ...(await agreementFindings(parts))];
  const wrong = all.filter(({ state, topic }) => state === 'failed' || (state === 'warning' && topic === 'approvers'));
  return [...(lost === undefined ? [] : [lost]), ...(await attemptFindings(parts.attempts.ofPeople)), ...wrong];
}

/** What the configuration and the trail say of each other. */
export async function agreementFindings({
  agreement,
  trail,
  trustedKeys,
}: Pick<AlarmParts, 'agreement' | 'trail' | 'trustedKeys'>): Promise<readonly Finding[]> {
  try {
    const [seen, pinned] = await Promise.all([trail.look(), trustedKeys()]);
    return [
      ...agreement.findings(),
      ...trailFindings(seen),
      // Root's own file is written by nobody else.
      ...(agreement.isRoots ? [] : [...lostAgreement(agreement.digest(), seen, pinned), ...unannounced(pinned, seen)]),
    ];
  } catch (thrown) {
    return [failedFinding('configuration', thrown)];
  }
}

/** Also for `audit verify`: the chain may be whole, and still somebody used what nobody gave. */
export function trailFindings({ unanswered }: Seen): readonly Finding[] {
  const remedy = say`see \`banksman audit tail\` for what ran; revoke the key (\`banksman approvers revoke\`), and find out which program or extension could read it`;
  return unanswered.map((id) => {
    const message = say`request ${id} was approved and used, and no record says that anybody approved it: somebody wrote the answer into the store, with a key that counts here`;
    return finding('approvals', 'failed', message, remedy);
  });
}

function lostAgreement(digest: string | undefined, { agreed }: Seen, pinned: readonly ApproverKey[]): readonly Finding[] {
  if (agreed === undefined || agreed === digest) return [];
  // Begun anew: nobody can approve before a person trusts a key again.
  if (digest === undefined && pinned.length === 0) return [];
  const message =
    digest === undefined
      ? say`what was agreed to of the configuration is gone: it counts as it is, whoever wrote it`
      : say`what was agreed to of the configuration is not what the trail says was agreed to last: an older copy, or another, is in its place`;
  const remedy = say`find out who removed or replaced \`agreed.json\`; look at \`approvers\`, \`protected\` and \`clusters\`, then run \`banksman config agree\``;
  return [finding('configuration', 'failed', message, remedy)];
}

/** A key that counts, and no record says since when and by whom. */
function unannounced(pinned: readonly ApproverKey[], { announced, whole }: Seen): readonly Finding[] {
  if (!whole) return [];
  const strangers = pinned.filter(({ key }) => !announced.some((known) => isSameKey(known, key)));
  const remedy = say`if you wrote it, \`banksman config agree\` announces it; if not, take it out of \`approvers\` and look at what it approved`;
  return strangers.map(({ name, key }) => {
    const message = say`\`${name}\` (${key}) counts as an approver, and no record says who let it: it was written into the configuration`;
    return finding('approvers', 'warning', message, remedy);
  });
}
