/** The agreement at work in one App: which of its configuration counts, who may pin, and what a person is asked about. */
import { isSameKey } from '#approval/keys';
import { type ApprovalRules, stricterRules } from '#approval/rules';
import type { ApproverKey, Signer } from '#kernel/answer';
import type { ConfigAgreement, Finding, SettingResult } from '#kernel/app';
import { Fault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import {
  type Agreement,
  agreedConfig,
  agreedPins,
  agreementFileOf,
  heldPins,
  type Origin,
  type Proposal,
  readAgreement,
  signAgreement,
} from './agreement.ts';
import { approvalRules, type Config } from './config.ts';
import { addApprover, createApproverReader } from './config-file.ts';

export type { Origin };

export interface AgreementParts {
  readonly config: Config;
  readonly configFile: string;
  readonly origin?: Origin;
  readonly ownStore?: boolean;
}

type Trail = Pick<AuditLog, 'append'>;

export interface AppAgreement {
  /** As it counts. */
  readonly config: Config;
  /** Pins that count, of those in the file. @throws {Fault} `bad_agreement` */
  counting(pins: readonly ApproverKey[]): readonly ApproverKey[];
  /** Of who may approve: those in the machine's file, and what was agreed to of it; the stricter. @throws {Fault} `bad_agreement` */
  rules(inFile: ApprovalRules): ApprovalRules;
  /** @throws {Fault} `needs_approver`: the pin is in the file, and waits for one of the others */
  mayPin(key: ApproverKey): Promise<void>;
  /** Pins a first key, which vouches for itself. */
  pin(key: ApproverKey, signer: Signer, trail: Trail): Promise<void>;
  /** What waits for a person. */
  pending(): readonly string[];
  forPeople(trail: Trail, trustedKeys: () => Promise<readonly ApproverKey[]>): ConfigAgreement;
  findings(): readonly Finding[];
  /** The newest that was agreed to, to be held against the trail; undefined: nothing was. */
  digest(): string | undefined;
}

/** @throws {Fault} `bad_agreement`: what counts cannot be known, so nothing starts */
export function createConfigAgreement({ config: given, configFile, origin, ownStore = false }: AgreementParts): AppAgreement {
  const approving = createApproverReader(configFile);
  const inFile = () => approving().approvers;
  const agreedTerms = (agreement: Agreement | undefined) => {
    const terms = origin === undefined ? undefined : agreement?.terms[origin];
    return terms !== undefined && ownStore ? { ...terms, store: given.store } : terms;
  };
  const now = () => agreedConfig(given, agreedTerms(readAgreement(configFile)));
  const pending = (): readonly string[] => {
    const agreement = readAgreement(configFile);
    return [...heldPins(inFile(), agreement), ...(origin === undefined ? [] : agreedConfig(given, agreedTerms(agreement)).held)];
  };
  const agree = (approvers: readonly ApproverKey[], signer: Signer, trail: Trail) =>
    recordAgreement(configFile, { approvers, ...(origin === undefined ? {} : { origin, config: given }) }, signer, trail);
  return {
    // The machine's pins are read from its file anew each time; these would go on counting.
    config: origin === undefined ? now().config : { ...now().config, approvers: [] },
    counting: (pins) => agreedPins(pins, readAgreement(configFile)),
    rules: (written) => {
      const agreed = readAgreement(configFile)?.terms.machine;
      return agreed === undefined ? written : stricterRules(written, approvalRules(agreed));
    },
    mayPin: (key) => waitForOthers(configFile, key),
    pin: async (key, signer, trail) => {
      await addApprover(configFile, key);
      await agree(inFile(), signer, trail);
    },
    pending,
    forPeople: (trail, trustedKeys) => ({
      pending: async () => pending(),
      agree: async (shown, signer): Promise<SettingResult> => {
        if (shown.join('\n') !== pending().join('\n')) return changedMeanwhile;
        if (!(await trustedKeys()).some(({ key }) => isSameKey(key, signer.publicKey))) return notTrusted;
        await agree(inFile(), signer, trail);
        return { ok: true, code: 'set', message: 'agreed; it counts from the next start on, and a window starts again at once' };
      },
    }),
    findings: () => findingsOf(configFile, inFile(), pending()),
    digest: () => readAgreement(configFile)?.digest,
  };
}

const changedMeanwhile: SettingResult = {
  ok: false,
  code: 'changed_while_shown',
  message: 'the configuration changed while it was shown; nothing was agreed to, look again',
};
const notTrusted: SettingResult = {
  ok: false,
  code: 'key_not_trusted',
  message: 'nothing was agreed to: this key is not among those that count; one of them has to agree',
};

/** Where others count already the pin is written, and waits for one of them. @throws {Fault} `needs_approver` */
async function waitForOthers(configFile: string, key: ApproverKey): Promise<void> {
  const agreement = readAgreement(configFile);
  if (agreement === undefined || agreement.approvers.length === 0) return;
  await addApprover(configFile, key);
  throw new Fault(
    'needs_approver',
    `this key is new here, and ${names(agreement.approvers)} approves already: it counts once they agree to it`,
    {
      audience: 'user',
      next: 'in their window “Banksman: Agree to the Configuration…”, or `banksman config agree` at a terminal',
    },
  );
}

/** Signed, and written down. @throws {Fault} `needs_approver`, `bad_agreement` */
export async function recordAgreement(configFile: string, proposal: Proposal, signer: Signer, trail: Trail): Promise<void> {
  const { digest } = await signAgreement(configFile, proposal, signer);
  const approvers = proposal.approvers.map(({ key }) => key);
  await trail.append({ name: 'policy.changed', attributes: { change: 'configuration_agreed', by: signer.approver, approvers, digest } });
}

function names(approvers: readonly ApproverKey[]): string {
  return approvers.map(({ name }) => `\`${name}\``).join(', ');
}

function findingsOf(configFile: string, pins: readonly ApproverKey[], pending: readonly string[]): readonly Finding[] {
  const agreement = readAgreement(configFile);
  const topic = 'configuration';
  if (agreement === undefined) {
    if (pins.length === 0) return [];
    const message = `nobody has agreed to the configuration yet: whoever can write ${configFile} decides who approves`;
    return [{ topic, state: 'warning', message, remedy: '`banksman config agree`' }];
  }
  const at = new Date(agreement.at).toISOString();
  if (pending.length === 0)
    return [{ topic, state: 'ok', message: `as ${agreement.by} agreed to it on ${at} (${agreementFileOf(configFile)})` }];
  const remedy =
    'if you made the change, “Banksman: Agree to the Configuration…” or `banksman config agree`; if not, find out who wrote it, and take it out';
  return pending.map((what) => ({ topic, state: 'failed', message: `does not count, for nobody agreed to it: ${what}`, remedy }));
}
