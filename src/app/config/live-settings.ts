/** What decides at this moment: the configuration, and what people have set in the store. */
import { createSecuritySettings, type StandingRule, type StandingSettings } from '#approval/security-settings';
import type { PauseMemory } from '#approval/standing-pause';
import type { AutoApproveRule, EffectiveLevel, SecuritySettings } from '#kernel/app';
import type { ApproverKey } from '#kernel/approval/answer';
import type { AutoApproveAction } from '#kernel/approval/security';
import { toFault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import type { SecurityStore } from '#kernel/ports/store';
import type { SecurityLevel } from '#kernel/tiers';
import type { PolicySettings } from '#pipeline/deps';
import { isTooWide, type LiveRule, parseRulePattern } from '#policy/auto-approve';
import { catalog } from '../catalog.ts';
import type { Config } from './config.ts';
import { policySettings } from './policy-settings.ts';

export interface LiveSettingsParts {
  readonly config: Config;
  readonly version: string;
  readonly store: SecurityStore;
  /** What this machine saw of the store's pauses; absent: this process alone remembers. */
  readonly pauses?: PauseMemory | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
}

export interface LiveSettings {
  /** For a page: what a passkey is to sign, and what it signed. Absent where a service holds the store. */
  readonly signed?: Pick<StandingSettings, 'draft' | 'accept'>;
  /** For people. Rejects where the store cannot be read. */
  readonly security: SecuritySettings;
  /** For calls, read anew each time: the store is asked, so no other process's change is missed. Never rejects. */
  now(): Promise<PolicySettings>;
  /** As they were last known; for what cannot wait. */
  known(): PolicySettings;
}

/** Rules are for tools that are yellow as declared; configuration may make one stricter, and then they no longer lift anything. */
const yellowTools = catalog.filter((tool) => tool.tier === 'yellow').map((tool) => tool.name);

export function createLiveSettings(parts: LiveSettingsParts): LiveSettings & Required<Pick<LiveSettings, 'signed'>> {
  const { config, store, log } = parts;
  const core = createSecuritySettings({ ...parts, configured: config.securityLevel, checkPattern });
  const ofLevel = settingsByLevel(parts);
  const warn = onceEach((message) => log.warn(message));
  const rules = async (): Promise<readonly LiveRule[]> => {
    const standing = await core.rules();
    for (const { pattern, warning } of standing) if (warning !== undefined) warn(`auto-approve rule \`${pattern}\`: ${warning}`);
    return liveRules(standing);
  };
  let known: PolicySettings = { ...ofLevel(config.securityLevel), rules };

  const now = async (): Promise<PolicySettings> => {
    try {
      const { level, warning, paused } = await core.level();
      if (warning !== undefined) warn(`security level: ${warning}`);
      if (paused?.warning !== undefined) warn(`all agents stay paused: ${paused.warning}`);
      known = { ...ofLevel(level), rules, ...(paused === undefined ? {} : { paused }) };
    } catch (thrown) {
      // SECURITY: what cannot be read may have been stricter than anything. Green goes on where the trail can be written.
      const { message } = toFault(thrown);
      warn(`the security level cannot be read, so everything is handled as at level strict: ${message}`);
      known = { ...ofLevel('strict'), rules, unavailable: message };
    }
    return known;
  };
  return {
    now,
    known: () => known,
    signed: core,
    security: {
      level: async (): Promise<EffectiveLevel> => core.level(),
      setLevel: (level, signer) => core.setLevel(level, signer),
      rules: async () => (await core.rules()).map(forPeople),
      setRule: (rule, signer) => core.setRule(rule, signer),
      removeRule: (pattern, signer) => core.removeRule(pattern, signer),
      pause: (by, reason) => core.pause(by, reason),
      resume: (signer) => core.resume(signer),
      onChange: (listener) => store.onChange(() => void now().then(() => listener())),
    },
  };
}

function checkPattern(pattern: string, action: AutoApproveAction) {
  const parsed = parseRulePattern(pattern, yellowTools);
  if (!parsed.ok) return parsed;
  if (action === 'allow' && isTooWide(parsed.pattern))
    return { ok: false, why: `\`${parsed.pattern.text}\` is a whole top-level domain, which nothing may be allowed for` } as const;
  return { ok: true, text: parsed.pattern.text } as const;
}

/** A pattern that this version does not understand matches nothing; `rules` shows it with its warning. */
export function liveRules(
  rules: readonly { readonly pattern: string; readonly counts?: AutoApproveAction | undefined }[],
): readonly LiveRule[] {
  return rules.flatMap(({ pattern, counts }) => {
    const parsed = parseRulePattern(pattern, yellowTools);
    return parsed.ok && counts !== undefined ? [{ pattern: parsed.pattern, action: counts }] : [];
  });
}

function forPeople({ pattern, action, by, expiresAt, warning }: StandingRule): AutoApproveRule {
  const parsed = parseRulePattern(pattern, yellowTools);
  const told = warning ?? (parsed.ok ? undefined : `${parsed.why}; it changes nothing`);
  return { pattern, action, by, expiresAt, ...(told === undefined ? {} : { warning: told }) };
}

/** The configuration's part is digested once per level. */
function settingsByLevel({ config, version }: Pick<LiveSettingsParts, 'config' | 'version'>) {
  const made = new Map<SecurityLevel, PolicySettings>();
  return (level: SecurityLevel): PolicySettings => {
    const settings = made.get(level) ?? policySettings({ ...config, securityLevel: level }, version);
    made.set(level, settings);
    return settings;
  };
}

const mostSaid = 100;

/** The same warning at every call would bury the log. */
function onceEach(say: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message) || said.size >= mostSaid) return;
    said.add(message);
    say(message);
  };
}
