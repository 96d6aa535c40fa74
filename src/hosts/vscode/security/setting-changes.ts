/** The changes a person can make, in words. */
import type { App, AutoApproveRule, ConfigAgreement, EffectiveLevel, SettingResult } from '#kernel/app';
import type { Signer } from '#kernel/approval/answer';
import type { AutoApproveAction, Pause } from '#kernel/approval/security';
import type { JsonObject } from '#kernel/json';
import { durationWords } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { SecurityLevel } from '#kernel/tiers';
import { faultWords } from '../fault-words.ts';
import { settingSigner } from '../gate/bound-signer.ts';
import { type Confirmation, type ConfirmDeps, confirmRun, trustKey } from '../gate/confirm-run.ts';
import { inWords, t } from '../l10n.ts';
import { answerText } from '../request-words.ts';

/** Two short halves: a list cuts a line off after some seventy characters. */
export const levelWords: Record<SecurityLevel, { readonly calls: string; readonly network: string }> = {
  relaxed: { calls: t('Yellow calls run and are logged, red calls ask.'), network: t('commands with network: allowed, logged') },
  balanced: { calls: t('Yellow calls run and are logged, red calls ask.'), network: t('commands with network: ask') },
  strict: { calls: t('Yellow and red calls ask, disruptive ones for a typed code too.'), network: t('commands with network: refused') },
};

function levelInWords(level: SecurityLevel): string {
  const { calls, network } = levelWords[level];
  return `${calls}\n${network.charAt(0).toUpperCase()}${network.slice(1)}.`;
}

export const actionWords: Record<AutoApproveAction, string> = {
  allow: t('runs without asking, and is logged'),
  prompt: t('asks a person'),
  block: t('is refused'),
};

type Security = App['security'];

export function levelChange(security: Security, now: EffectiveLevel, level: SecurityLevel): SettingChange {
  return {
    question: {
      key: 'security level',
      title: t('Set the security level to {0}?', level),
      detail: `${levelInWords(level)}\n\n${t('It is {0} now. It counts for everyone on the same store, until somebody sets another one.', now.level)}`,
      stay: t('Keep {0}', now.level),
      proceed: t('Set to {0}', level),
    },
    signed: { setting: 'security_level', level },
    carryOut: (signer) => security.setLevel(level, signer),
  };
}

export function resumption(security: Security, { by, at, reason, warning }: Pause): SettingChange {
  const since = at === 0 ? t('What is stored of the pause is damaged.') : t('Since {0}.', new Date(at).toLocaleString());
  return {
    question: {
      key: 'resume agents',
      title: t('Let all agents change things again?'),
      detail: [
        `${t('Paused by {0}.', showPlainly(by, 100))} ${since}`,
        ...(reason === undefined ? [] : [showPlainly(reason, 300)]),
        ...(warning === undefined ? [] : [t('Somebody changed the store: {0}.', showPlainly(warning, 400))]),
        t('It counts for everyone on the same store.'),
      ].join('\n\n'),
      stay: t('Keep Them Paused'),
      proceed: t('Resume Agents'),
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
      title: t('Make the configuration looser?'),
      detail: t(
        'Somebody changed it. Until you agree, the old values count.\n\n{0}\n\nIf it was not you, keep the old values, and find out who wrote it.',
        lines,
      ),
      stay: t('Keep the Old Values'),
      proceed: t('Agree'),
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
      title: t('Add the rule “{0}”: {1}?', showPlainly(rule.pattern, 120), rule.action),
      detail: `${t('What fits it {0}, for everyone on the same store, for {1}.', actionWords[rule.action], lifeInWords(rule.lifeMs))}\n\n${t('No rule lifts a red call, a protected target or what is forbidden.')}`,
      stay: t('Do Not Add'),
      proceed: t('Add Rule'),
    },
    signed: { setting: 'auto_approve', pattern: rule.pattern, action: rule.action },
    carryOut: (signer) => security.setRule(rule, signer),
  };
}

export function ruleRemoval(security: Security, rule: AutoApproveRule): SettingChange {
  return {
    question: {
      key: `rule ${rule.pattern}`,
      title: t('Remove the rule “{0}”: {1}?', showPlainly(rule.pattern, 120), rule.action),
      detail: `${t('Set by {0}.', showPlainly(rule.by, 100))}\n\n${t('Without it the security level decides again.')}`,
      stay: t('Keep'),
      proceed: t('Remove Rule'),
    },
    signed: { setting: 'auto_approve_removed', pattern: rule.pattern },
    carryOut: (signer) => security.removeRule(rule.pattern, signer),
  };
}

/** `3 days`; shorter ones as a remaining time. */
export function lifeInWords(lifeMs: number): string {
  const days = Math.round(lifeMs / 86_400_000);
  if (days < 1) return inWords(durationWords(lifeMs));
  return days === 1 ? t('1 day') : `${days} ${t('days')}`;
}

// A change of a shared security setting: shown in a modal, signed with this window's key, then carried out.

export interface SettingChange {
  readonly question: Confirmation;
  /** What is signed must hold exactly these. */
  readonly signed: JsonObject;
  carryOut(signer: Signer): Promise<SettingResult>;
}

export interface ChangeDeps {
  readonly approvals: Pick<App['approvals'], 'isTrusted' | 'trust'>;
  readonly confirm: ConfirmDeps;
  signer(): Promise<Signer>;
  /** Where a first approval pins the key, for people. */
  readonly configFile: string;
}

/** What came of it is told to the person. True: it was changed. */
export async function changeSetting(change: SettingChange, deps: ChangeDeps): Promise<boolean> {
  const { dialogs } = deps.confirm;
  try {
    const signer = await deps.signer();
    if (!(await confirmRun(change.question, deps.confirm))) return false;
    if (!(await trustKey(signer, { ...deps, confirm: (question) => confirmRun(question, deps.confirm) }))) return false;
    const result = await change.carryOut(settingSigner(signer, change.signed));
    dialogs.tell(result.ok ? 'status' : 'error', `Banksman: ${answerText(result)}`);
    return result.ok;
  } catch (thrown) {
    dialogs.tell('error', t('Banksman: nothing was changed: {0}', faultWords(thrown)));
    return false;
  }
}
