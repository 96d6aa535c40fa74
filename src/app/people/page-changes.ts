/** What people change on the approval page with a passkey, besides answering: the settings they share, and what of the configuration counts. */
import type { Changes } from '#approval/passkey-desk';
import { agreeFlaw, loosenWords } from '#approval/signed';
import type { SettingResult } from '#kernel/app';
import type { ApproverKey } from '#kernel/approval/answer';
import type { PageChange } from '#kernel/approval/passkey';
import type { Signed } from '#kernel/approval/proof';
import type { SettingPayload } from '#kernel/approval/security';
import { faultMessage, toFault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import { asListed, type Message, say, told } from '#kernel/text/message';
import type { AgreementPayload } from '../config/agreement.ts';
import { type AppAgreement, agreedWords, type Origin, recordSigned } from '../config/config-agreement.ts';
import type { LiveSettings } from '../config/live-settings.ts';
import type { PlanResumes } from '../plans/resume-plan.ts';

export interface PageChangeParts {
  readonly live: Pick<LiveSettings, 'security' | 'signed'>;
  readonly agreement: AppAgreement;
  readonly configFile: string;
  /** Absent: only an administrator can write the configuration. */
  readonly origin?: Origin;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
  readonly resumes: Pick<PlanResumes, 'draft' | 'accept'>;
}

export function createPageChanges(parts: PageChangeParts): Changes {
  const { agreement, origin, resumes } = parts;
  const { security, signed } = parts.live;
  return {
    settings: async () => {
      const [level, rules] = await Promise.all([security.level(), security.rules()]);
      if (origin === undefined) return { level, rules };
      return { level, rules, configuration: { waiting: agreement.pending(), isNew: agreement.isNew() } };
    },
    draft: async (change, pin) => {
      const approver = pin.name.startsWith('user:') ? pin.name : `user:${pin.name}`;
      if (change.kind === 'resume_plan') return resumes.draft(change.plan, approver);
      if (change.kind !== 'agree') return signed === undefined ? { ok: false, refusal: elsewhere } : signed.draft(change, approver);
      const refusal = await whyNotAgree(change, pin, parts);
      return refusal === undefined ? { ok: true, payload: agreement.draft(approver) } : { ok: false, refusal };
    },
    accept: async ({ payload, proof }) => {
      const setting = payload as SettingPayload | AgreementPayload | { readonly setting: 'plan_resumed' };
      if (setting.setting === 'plan_resumed') return resumes.accept({ payload, proof });
      if (setting.setting === 'configuration') return agree({ payload: setting, proof }, parts);
      return signed === undefined ? elsewhere : signed.accept({ payload: setting, proof });
    },
  };
}

const elsewhere = refused('not_here', say`a service holds the store, and what people set in it`);

async function whyNotAgree(
  { shown }: Extract<PageChange, { readonly kind: 'agree' }>,
  pin: ApproverKey,
  { agreement, origin, trustedKeys }: PageChangeParts,
): Promise<SettingResult | undefined> {
  if (origin === undefined) return refused('not_here', say`only root changes the configuration here`);
  const flaw = agreeFlaw(pin, await trustedKeys());
  if (flaw !== undefined) return refused('needs_passkey', asListed(loosenWords[flaw]));
  if (shown.join('\n') === agreement.pending().join('\n')) return undefined;
  return refused('changed_while_shown', say`the configuration changed while it was shown; look again`);
}

/** SECURITY: what was signed is the whole of it, so what was changed since the person looked is not agreed to with it. */
async function agree(entry: Signed<AgreementPayload>, { configFile, audit }: PageChangeParts): Promise<SettingResult> {
  try {
    await recordSigned(configFile, entry, audit);
    return {
      ok: true,
      code: 'set',
      ...told(agreedWords),
    };
  } catch (thrown) {
    const { code, message } = toFault(thrown);
    const words = faultMessage(thrown);
    const known = code === 'needs_passkey' ? code : 'changed_while_shown';
    return message.startsWith('nothing') ? { ok: false, code: known, ...told(words) } : refused(known, words);
  }
}

function refused(code: SettingResult['code'], why: Message): SettingResult {
  return { ok: false, code, ...told(say`nothing was changed: ${why}`) };
}
