/** The security level that counts: what a person signed, else the configuration's; never looser than somebody agreed to. */
import type { ApproverKey } from '#kernel/answer';
import type { StoredLevel } from '#kernel/ports/security-store';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { type SettingFlaw, settingFlaw } from './setting.ts';

/** Structurally `App`'s `EffectiveLevel`. */
export interface CountingLevel {
  readonly level: SecurityLevel;
  readonly from: 'configuration' | 'store';
  readonly by?: string;
  readonly warning?: string;
}

/** A stored level that no pinned key signed counts only where it is stricter than the configuration's, and is warned about either way (`why`). */
export function effectiveLevel(
  stored: StoredLevel | undefined,
  configured: SecurityLevel,
  trustedKeys: readonly ApproverKey[],
  why = 'nobody signed it',
): CountingLevel {
  if (stored === undefined) return { level: configured, from: 'configuration' };
  if ('unsigned' in stored) return distrusted(stored.unsigned, configured, why);
  const { payload } = stored.signed;
  const flaw = settingFlaw(stored.signed, trustedKeys);
  return flaw === undefined
    ? { level: payload.level, from: 'store', by: payload.approver }
    : distrusted(payload.level, configured, flawInWords[flaw]);
}

export const flawInWords: Readonly<Record<SettingFlaw, string>> = {
  untrusted_key: 'it was signed with a key that is not trusted here',
  bad_signature: 'its signature does not fit',
};

function distrusted(level: SecurityLevel, configured: SecurityLevel, why: string): CountingLevel {
  const counts = securityLevels.indexOf(level) > securityLevels.indexOf(configured);
  const what = `the store says \`${level}\`, but ${why}`;
  return counts
    ? { level, from: 'store', warning: `${what}; it counts because it is stricter than the configuration’s \`${configured}\`` }
    : { level: configured, from: 'configuration', warning: `${what}; the configuration’s \`${configured}\` counts` };
}
