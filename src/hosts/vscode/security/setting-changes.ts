/** The changes a person can make, in words. */
import type { App, AutoApproveRule, ConfigAgreement, EffectiveLevel } from '#kernel/app';
import type { AutoApproveAction, Pause } from '#kernel/approval/security';
import { durationInWords, showPlainly } from '#kernel/text/text';
import type { SecurityLevel } from '#kernel/tiers';
import type { SettingChange } from './change-setting.ts';

/** Two short halves: a list cuts a line off after some seventy characters. */
export const levelWords: Record<SecurityLevel, { readonly calls: string; readonly network: string }> = {
  relaxed: { calls: 'Yellow calls run and are logged, red calls ask.', network: 'commands with network: allowed, logged' },
  balanced: { calls: 'Yellow calls run and are logged, red calls ask.', network: 'commands with network: ask' },
  strict: { calls: 'Yellow and red calls ask, disruptive ones for a typed code too.', network: 'commands with network: refused' },
};

function levelInWords(level: SecurityLevel): string {
  const { calls, network } = levelWords[level];
  return `${calls}\n${network.charAt(0).toUpperCase()}${network.slice(1)}.`;
}

export const actionWords: Record<AutoApproveAction, string> = {
  allow: 'runs without asking, and is logged',
  prompt: 'asks a person',
  block: 'is refused',
};

type Security = App['security'];

export function levelChange(security: Security, now: EffectiveLevel, level: SecurityLevel): SettingChange {
  return {
    question: {
      key: 'security level',
      title: `Set the security level to ${level}?`,
      detail: `${levelInWords(level)}\n\nIt is ${now.level} now. It counts for everyone on the same store, until somebody sets another one.`,
      stay: `Keep ${now.level}`,
      proceed: `Set to ${level}`,
    },
    signed: { setting: 'security_level', level },
    carryOut: (signer) => security.setLevel(level, signer),
  };
}

export function resumption(security: Security, { by, at, reason }: Pause): SettingChange {
  const since = at === 0 ? 'What is stored of the pause is damaged.' : `Since ${new Date(at).toLocaleString()}.`;
  return {
    question: {
      key: 'resume agents',
      title: 'Let all agents change things again?',
      detail: `Paused by ${showPlainly(by, 100)}. ${since}${reason === undefined ? '' : `\n\n${showPlainly(reason, 300)}`}\n\nIt counts for everyone on the same store.`,
      stay: 'Keep Them Paused',
      proceed: 'Resume Agents',
    },
    signed: { setting: 'agents_resumed', pausedAt: at },
    carryOut: (signer) => security.resume(signer),
  };
}

/** Every line is shown: one that nobody saw must not be agreed to. */
export function configurationChange(agreement: ConfigAgreement, waiting: readonly string[]): SettingChange {
  const lines = waiting.map((line) => `· ${showPlainly(line, 1_000)}`).join('\n');
  return {
    question: {
      key: 'agree to the configuration',
      title: 'Make the configuration looser?',
      detail: `Somebody changed it. Until you agree, the old values count.\n\n${lines}\n\nIf it was not you, keep the old values, and find out who wrote it.`,
      stay: 'Keep the Old Values',
      proceed: 'Agree',
    },
    signed: { setting: 'configuration' },
    carryOut: (signer) => agreement.agree(waiting, signer),
  };
}

export interface NewRule {
  readonly pattern: string;
  readonly action: AutoApproveAction;
  readonly lifeMs: number;
}

export function ruleChange(security: Security, rule: NewRule): SettingChange {
  return {
    question: {
      key: `rule ${rule.pattern}`,
      title: `Add the rule “${showPlainly(rule.pattern, 120)}”: ${rule.action}?`,
      detail:
        `What fits it ${actionWords[rule.action]}, for everyone on the same store, for ${lifeInWords(rule.lifeMs)}.\n\n` +
        'No rule lifts a red call, a protected target or what is forbidden.',
      stay: 'Do Not Add',
      proceed: 'Add Rule',
    },
    signed: { setting: 'auto_approve', pattern: rule.pattern, action: rule.action },
    carryOut: (signer) => security.setRule(rule, signer),
  };
}

export function ruleRemoval(security: Security, rule: AutoApproveRule): SettingChange {
  return {
    question: {
      key: `rule ${rule.pattern}`,
      title: `Remove the rule “${showPlainly(rule.pattern, 120)}”: ${rule.action}?`,
      detail: `Set by ${showPlainly(rule.by, 100)}.\n\nWithout it the security level decides again.`,
      stay: 'Keep',
      proceed: 'Remove Rule',
    },
    signed: { setting: 'auto_approve_removed', pattern: rule.pattern },
    carryOut: (signer) => security.removeRule(rule.pattern, signer),
  };
}

/** `3 days`; shorter ones as a remaining time. */
export function lifeInWords(lifeMs: number): string {
  const days = Math.round(lifeMs / 86_400_000);
  if (days < 1) return durationInWords(lifeMs);
  return days === 1 ? '1 day' : `${days} days`;
}
