/** The agreement at work in one App: which of its configuration counts, who may pin, and what a person is asked about. */

import { readFileSync, rmSync, unwatchFile, watchFile, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { isSameKey } from '#approval/keys';
import { type ApprovalRules, stricterRules } from '#approval/rules';
import { signPayload } from '#approval/signed';
import type { ConfigAgreement, Finding, SettingResult } from '#kernel/app';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { Signed } from '#kernel/approval/proof';
import { Fault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import { asIs, say, told } from '#kernel/text/message';
import { finding } from '../finding.ts';
import {
  type Agreement,
  type AgreementPayload,
  addAgreement,
  agreedConfig,
  agreedPins,
  agreementFileOf,
  createAgreementReader,
  draftAgreement,
  heldPins,
  type Origin,
  type Proposal,
  readAgreement,
  type Terms,
  termsOf,
} from './agreement.ts';
import { approvalRules, type Config, parseConfig } from './config.ts';
import { addApprover, createApproverReader } from './config-file.ts';

export type { Origin };

export interface AgreementParts {
  readonly config: Config;
  readonly configFile: string;
  readonly origin?: Origin;
  readonly ownStore?: boolean;
  /** Root's file, for a service: no program of the agents' account writes it, so there is nothing to agree to. */
  readonly isRoots?: boolean;
}

/** Only who can write the proposal could make it anything else: then there is none. */
const termsSchema = z.looseObject({ requireSandbox: z.boolean() });

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
  /** Nobody has agreed to any of it, or not to the editor's settings: then they count as they are, whoever wrote them. */
  isNew(): boolean;
  /** Of what is so now, for a signature. @throws {Fault} `bad_agreement` */
  draft(approver: string): AgreementPayload;
  forPeople(trail: Trail, trustedKeys: () => Promise<readonly ApproverKey[]>): ConfigAgreement;
  findings(): readonly Finding[];
  /** The newest that was agreed to, to be held against the trail; undefined: nothing was. */
  digest(): string | undefined;
  readonly isRoots: boolean;
}

/** @throws {Fault} `bad_agreement`: what counts cannot be known, so nothing starts */
export function createConfigAgreement(parts: AgreementParts): AppAgreement {
  const { configFile, origin, isRoots = false } = parts;
  if (isRoots) return rootsOwn(parts.config, configFile);
  const read = createAgreementReader(configFile);
  const look = createLook(parts, read);
  const { inFile, pending, proposal } = look;
  const agree = (signer: Signer, trail: Trail) => recordAgreement(configFile, proposal(), signer, trail);
  if (origin === 'editor') propose(configFile, parts.config, look.now().held.length > 0 || look.isNew());
  return {
    isRoots,
    // The machine's pins are read from its file anew each time; these would go on counting.
    config: origin === undefined ? look.now().config : { ...look.now().config, approvers: [] },
    counting: (pins) => agreedPins(pins, read()),
    rules: (written) => {
      const agreed = read()?.terms.machine;
      return agreed === undefined ? written : stricterRules(written, approvalRules(agreed));
    },
    mayPin: (key) => waitForOthers(configFile, key, inFile().approvers),
    pin: async (key, signer, trail) => {
      await addApprover(configFile, key);
      await agree(signer, trail);
    },
    pending,
    isNew: look.isNew,
    draft: (approver) => draftAgreement(configFile, proposal(), approver),
    forPeople: (trail, trustedKeys) => ({
      pending: async () => pending(),
      agree: async (shown, signer): Promise<SettingResult> => {
        if (shown.join('\n') !== pending().join('\n')) return changedMeanwhile;
        if (!(await trustedKeys()).some(({ key }) => isSameKey(key, signer.publicKey))) return notTrusted;
        await agree(signer, trail);
        return { ok: true, code: 'set', ...told(agreedWords) };
      },
      onChange: (listener) => onAgreed(configFile, { read, counts: () => look.now().config }, listener),
    }),
    findings: () => findingsOf({ agreement: read(), configFile, pins: inFile().approvers, pending: pending() }),
    digest: () => read()?.digest,
  };
}

export const agreedWords = say`agreed; windows and MCP servers take it over within seconds, other programs at their next start`;

/** What is so now, and what was agreed to: read anew each time. */
function createLook({ config: given, configFile, origin, ownStore = false }: AgreementParts, read: () => Agreement | undefined) {
  const inFile = createApproverReader(configFile);
  // What stands in the machine's file is read as it is now: whoever serves the page has been there for long.
  const present = () => (origin === 'machine' && !ownStore ? inFile() : given);
  const agreedTerms = (agreement: Agreement | undefined) => {
    const terms = origin === undefined ? undefined : agreement?.terms[origin];
    return terms !== undefined && ownStore ? { ...terms, store: given.store } : terms;
  };
  return {
    inFile,
    now: () => agreedConfig(given, agreedTerms(read())),
    pending: (): readonly string[] => {
      const agreement = read();
      return [
        ...heldPins(inFile().approvers, agreement),
        ...(origin === undefined ? [] : agreedConfig(present(), agreedTerms(agreement)).held),
        ...(origin === 'machine' ? heldOfEditor(configFile, agreement) : []),
      ];
    },
    isNew: (): boolean => {
      const terms = read()?.terms;
      const hasEditor = origin === 'editor' || readProposed(configFile) !== undefined;
      return terms === undefined || (terms.editor === undefined && hasEditor);
    },
    proposal: (): Proposal => {
      const editor = origin === 'machine' ? readProposed(configFile) : undefined;
      const own = origin === undefined ? {} : { [origin]: termsOf(present()) };
      return { approvers: inFile().approvers, terms: { ...own, ...(editor === undefined ? {} : { editor }) } };
    },
  };
}

interface Followed {
  read(): Agreement | undefined;
  counts(): Config;
}

/**
 * Looked at every two seconds: a watch of the system's would miss a file that is renamed into place. Told is what counts otherwise than before: whoever
 * hears of it starts again, and that ends a plan which runs there. Of pins nobody need be told, they are read anew each time.
 */
function onAgreed(configFile: string, { read, counts }: Followed, listener: () => void): () => void {
  const file = agreementFileOf(configFile);
  const inForce = () => JSON.stringify({ ...counts(), approvers: [] });
  let known = read()?.digest;
  let counted = inForce();
  const look = () => {
    try {
      const digest = read()?.digest;
      if (digest === known) return;
      known = digest;
      const before = counted;
      counted = inForce();
      if (counted !== before) listener();
    } catch {
      // Removed or rewritten: nothing of it counts here, and `alarms` says so.
    }
  };
  watchFile(file, { interval: 2_000, persistent: false }, look);
  return () => unwatchFile(file, look);
}

function rootsOwn(config: Config, configFile: string): AppAgreement {
  const done = async (): Promise<SettingResult> => ({
    ok: true,
    code: 'set',
    ...told(say`nothing had to be agreed to: the file is root’s own`),
  });
  return {
    isRoots: true,
    config,
    counting: (pins) => pins,
    rules: (written) => written,
    mayPin: async () => undefined,
    pin: (key) => addApprover(configFile, key),
    pending: () => [],
    isNew: () => false,
    draft: () => {
      throw new Fault('no_agreement', 'the configuration is root’s own: there is nothing to agree to', { audience: 'user' });
    },
    forPeople: () => ({ pending: async () => [], agree: done, onChange: () => () => undefined }),
    findings: () => [],
    digest: () => undefined,
  };
}

const changedMeanwhile: SettingResult = {
  ok: false,
  code: 'changed_while_shown',
  ...told(say`the configuration changed while it was shown; nothing was agreed to, look again`),
};
const notTrusted: SettingResult = {
  ok: false,
  code: 'key_not_trusted',
  ...told(say`nothing was agreed to: this key is not among those that count; one of them has to agree`),
};

/** Where others count already the pin is written, and waits for one of them. @throws {Fault} `needs_approver` */
async function waitForOthers(configFile: string, key: ApproverKey, pins: readonly ApproverKey[]): Promise<void> {
  const agreement = readAgreement(configFile);
  const others = agreement?.approvers ?? pins.filter(({ passkey }) => passkey !== undefined);
  if (others.length === 0) return;
  // Before anybody agreed to anything, whatever stands in the file counts: a pin there would not wait.
  if (agreement !== undefined) await addApprover(configFile, key);
  throw new Fault('needs_approver', say`this key is new here, and ${names(others)} approves already: it counts once they agree to it`, {
    audience: 'user',
    next: 'on the approval page, in their window “Banksman: Agree to the Configuration…”, or `banksman config agree` at a terminal',
  });
}

/** Signed, and written down. @throws {Fault} `needs_approver`, `needs_passkey`, `bad_agreement` */
export async function recordAgreement(configFile: string, proposal: Proposal, signer: Signer, trail: Trail): Promise<void> {
  await recordSigned(configFile, await signPayload(draftAgreement(configFile, proposal, signer.approver), signer), trail);
}

/** @throws {Fault} as `recordAgreement` */
export async function recordSigned(configFile: string, entry: Signed<AgreementPayload>, trail: Trail): Promise<void> {
  const { digest, approvers, by } = await addAgreement(configFile, entry);
  const attributes = { change: 'configuration_agreed', by, approvers: approvers.map(({ key }) => key), digest };
  await trail.append({ name: 'policy.changed', attributes });
}

/** Beside the machine's file: what the editor's settings say now, where nobody agreed to that. Whoever writes there proposes, and nothing else. */
function proposedFile(configFile: string): string {
  return path.join(path.dirname(configFile), 'proposed.json');
}

function propose(configFile: string, config: Config, waits: boolean): void {
  try {
    if (waits) writeFileSync(proposedFile(configFile), JSON.stringify(termsOf(config)), { mode: 0o600 });
    else rmSync(proposedFile(configFile), { force: true });
  } catch {
    // Then it is agreed to in this window, or not at all.
  }
}

function readProposed(configFile: string): Terms | undefined {
  try {
    const { requireSandbox, ...rest } = termsSchema.parse(JSON.parse(readFileSync(proposedFile(configFile), 'utf8')));
    return termsOf(parseConfig({ ...rest, workspace: { requireSandbox } }, proposedFile(configFile)));
  } catch {
    return undefined;
  }
}

function heldOfEditor(configFile: string, agreement: Agreement | undefined): readonly string[] {
  const [proposed, agreed] = [readProposed(configFile), agreement?.terms.editor];
  if (proposed === undefined || agreed === undefined) return [];
  const { requireSandbox, ...rest } = proposed;
  const config = { ...parseConfig({}, ''), ...rest };
  const { held } = agreedConfig({ ...config, workspace: { ...config.workspace, requireSandbox } }, agreed);
  return held.map((what) => `in the editor’s settings: ${what}`);
}

function names(approvers: readonly ApproverKey[]): string {
  return approvers.map(({ name }) => `\`${name}\``).join(', ');
}

interface Looked {
  readonly agreement: Agreement | undefined;
  readonly configFile: string;
  readonly pins: readonly ApproverKey[];
  readonly pending: readonly string[];
}

function findingsOf({ agreement, configFile, pins, pending }: Looked): readonly Finding[] {
  const topic = 'configuration';
  if (agreement === undefined) {
    if (pins.length === 0) return [];
    const message = say`nobody has agreed to the configuration yet: whoever can write ${configFile} decides who approves`;
    return [finding(topic, 'warning', message, asIs('`banksman config agree`'))];
  }
  const at = new Date(agreement.at).toISOString();
  if (pending.length === 0) return [finding(topic, 'ok', say`as ${agreement.by} agreed to it on ${at} (${agreementFileOf(configFile)})`)];
  const remedy = say`if you made the change, “Banksman: Agree to the Configuration…” or \`banksman config agree\`; if not, find out who wrote it, and take it out`;
  return pending.map((what) => finding(topic, 'failed', say`does not count, for nobody agreed to it: ${what}`, remedy));
}

interface ApproversPlace {
  readonly config: Config;
  readonly configFile: string;
  readonly namedConfigFile?: string;
  checkConfigFile?(file: string): void;
}

/** Read anew each time: a key taken out of the file stops counting at once. Of rules the stricter counts, wherever it stands. */
export function createApproving(
  { config, configFile, namedConfigFile, checkConfigFile }: ApproversPlace,
  { counting, rules }: Pick<AppAgreement, 'counting' | 'rules'>,
): {
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
  readonly rules: () => ApprovalRules;
} {
  const reader = createApproverReader(configFile);
  const inFile = () => {
    checkConfigFile?.(configFile);
    return reader();
  };
  const named = namedConfigFile === undefined ? () => config : createApproverReader(namedConfigFile);
  const isMachines = namedConfigFile !== undefined && path.resolve(namedConfigFile) === path.resolve(configFile);
  return {
    trustedKeys: async () => [...(isMachines ? [] : named().approvers), ...counting(inFile().approvers)],
    rules: () => stricterRules(approvalRules(config), rules(approvalRules(inFile()))),
  };
}
