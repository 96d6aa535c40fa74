/**
 * What a person agreed to of a configuration that every program of their account can write. What makes it looser counts only after an approver who
 * counts already signed that very difference; until then the old values stay in force. What makes it stricter counts at once.
 * LIMIT: beside the configuration, in the same account: who removes the file starts over in processes that start later. `alarms.ts` finds that by
 * the trail's record of what was agreed to last.
 */

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { stricterRules } from '#approval/rules';
import { agreeFlaw, type LoosenFlaw, loosenWords, pinOf, type SignatureFlaw, signatureFlaw } from '#approval/signed';
import { ownShellModes } from '#kernel/agent-call';
import type { ApproverKey } from '#kernel/approval/answer';
import { type Signed, signedSchema } from '#kernel/approval/proof';
import { Fault } from '#kernel/errors';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { asListed, say } from '#kernel/text/message';
import { modelTiers, securityLevels, stricterTier } from '#kernel/tiers';
import { approvalRules, type Config } from './config.ts';
import { writeWhole } from './config-file.ts';
import { hasErrorCode } from './private-file.ts';

/** Whose values: the machine's configuration file, or the settings of the editor. */
export type Origin = 'machine' | 'editor';

/** The keys of a configuration that could be made looser. */
const agreedKeys = [
  'approvals',
  'clusters',
  'commandRules',
  'defaultModelTier',
  'hooks',
  'protected',
  'roles',
  'scopes',
  'securityLevel',
  'store',
  'tiers',
  'windows',
] as const satisfies readonly (keyof Config)[];

export type Terms = Pick<Config, (typeof agreedKeys)[number]> & { readonly requireSandbox: boolean };

const payloadSchema = z.strictObject({
  version: z.literal(1),
  setting: z.literal('configuration'),
  /** The entry before; null in the first. */
  previous: z.string().nullable(),
  approvers: z.array(z.looseObject({ name: z.string(), key: z.string() })),
  terms: z.strictObject({ machine: z.json().optional(), editor: z.json().optional() }),
  approver: z.string(),
  issuedAt: z.int(),
  /** base64url of 32 random bytes. */
  nonce: z.string().exactOptional(),
});
export type AgreementPayload = z.output<typeof payloadSchema>;

const entrySchema = signedSchema<AgreementPayload>(payloadSchema);
type Entry = Signed<AgreementPayload>;

/** undefined: nobody agreed to anything yet, and the configuration counts as it is. */
export interface Agreement {
  readonly approvers: readonly ApproverKey[];
  readonly terms: Partial<Record<Origin, Terms>>;
  /** Of the newest entry. */
  readonly digest: string;
  readonly by: string;
  readonly at: number;
}

const fileName = 'agreed.json';

export function agreementFileOf(configFile: string): string {
  return path.join(path.dirname(configFile), fileName);
}

/** @throws {Fault} `bad_agreement`: then nobody can approve, since nobody knows who may */
export function readAgreement(configFile: string): Agreement | undefined {
  return newestOf(readEntries(configFile));
}

/**
 * As `readAgreement`, for who stays: what was agreed to once goes on, or nobody can approve. SECURITY: a program that removes the file, or puts an
 * older copy back, gains nothing in processes that run.
 */
export function createAgreementReader(configFile: string): () => Agreement | undefined {
  let known: string | undefined;
  return () => {
    const entries = readEntries(configFile);
    if (known !== undefined && entries?.some((entry) => digestOfEntry(entry) === known) !== true)
      throw broken(
        agreementFileOf(configFile),
        `${entries === undefined ? 'it was removed' : 'an older copy, or another, was put in its place'} while this process ran`,
      );
    const newest = newestOf(entries);
    known = newest?.digest;
    return newest;
  };
}

function newestOf(entries: readonly Entry[] | undefined): Agreement | undefined {
  const last = entries?.at(-1);
  if (last === undefined) return undefined;
  const { approvers, terms, approver, issuedAt } = last.payload;
  return { approvers, terms: terms as Agreement['terms'], digest: digestOfEntry(last), by: approver, at: issuedAt };
}

function readEntries(configFile: string): readonly Entry[] | undefined {
  const file = agreementFileOf(configFile);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return undefined;
    throw broken(file, 'it cannot be read', thrown);
  }
  let entries: readonly Entry[];
  try {
    entries = z.array(entrySchema).min(1).parse(JSON.parse(text));
  } catch (thrown) {
    throw broken(file, 'it is damaged', thrown);
  }
  const misfit = entries.findIndex((entry, index) => !follows(entry, entries[index - 1]));
  if (misfit >= 0) throw broken(file, `entry ${misfit + 1} was not signed by an approver who counted before it`);
  return entries;
}

function follows(entry: Entry, before: Entry | undefined): boolean {
  return entry.payload.previous === (before === undefined ? null : digestOfEntry(before)) && signerFlaw(entry, before) === undefined;
}

/** SECURITY: each entry is signed by who counted before it and may agree; only the first vouches for itself. */
function signerFlaw(entry: Entry, before: Entry | undefined): SignatureFlaw | LoosenFlaw | undefined {
  const approvers = (before ?? entry).payload.approvers as readonly ApproverKey[];
  const pin = pinOf(entry.proof, approvers);
  if (pin === undefined) return 'untrusted_key';
  return signatureFlaw(entry, [pin]) ?? agreeFlaw(pin, approvers);
}

function digestOfEntry({ payload }: Entry): string {
  return createHash('sha256')
    .update(canonicalJson(payload as unknown as JsonObject))
    .digest('hex');
}

function broken(file: string, why: string, cause?: unknown): Fault {
  return new Fault('bad_agreement', say`${file}: ${why}, so nobody can approve here`, {
    audience: 'operator',
    next: `find out who wrote to it and put a backup back; only if you know that \`approvers\` names the right people, remove it and run \`banksman config agree\``,
    cause,
  });
}

/** What a person would agree to now. */
export interface Proposal {
  readonly approvers: readonly ApproverKey[];
  /** Of those origins that are looked at; absent: as they were agreed to. */
  readonly terms?: Agreement['terms'];
}

/** What is to be signed. @throws {Fault} `bad_agreement` */
export function draftAgreement(configFile: string, { approvers, terms }: Proposal, approver: string): AgreementPayload {
  const last = readEntries(configFile)?.at(-1);
  return payloadSchema.parse({
    version: 1,
    setting: 'configuration',
    previous: last === undefined ? null : digestOfEntry(last),
    approvers: approvers.map((key) => ({ ...key })),
    terms: { ...last?.payload.terms, ...JSON.parse(JSON.stringify(terms ?? {})) },
    approver,
    issuedAt: Date.now(),
    nonce: randomBytes(32).toString('base64url'),
  });
}

/** Adds what was signed to what was agreed. @throws {Fault} `needs_approver`, `needs_passkey`, `changed_meanwhile`, `bad_agreement` */
export async function addAgreement(configFile: string, entry: Signed<AgreementPayload>): Promise<Agreement> {
  const entries = readEntries(configFile) ?? [];
  const last = entries.at(-1);
  const flaw = signerFlaw(entry, last);
  if (flaw === 'window_key' || flaw === 'same_display')
    throw new Fault('needs_passkey', say`nothing was agreed to: ${asListed(loosenWords[flaw])}`, {
      audience: 'user',
      next: 'agree on the approval page, under “Settings”',
    });
  if (flaw !== undefined)
    throw new Fault('needs_approver', 'only an approver who counts here already may agree to this', {
      audience: 'user',
      next: say`let ${(last?.payload.approvers ?? []).map(({ name }) => `\`${name}\``).join(' or ') || 'one of them'} agree: \`banksman config agree\`, in their editor window, or on the approval page`,
    });
  if (!follows(entry, last))
    throw new Fault('changed_meanwhile', 'somebody else agreed to something meanwhile; look again', { audience: 'user' });
  // Whoever reads the configuration has to know what of it counts: a server under another user, for one.
  await writeWhole(agreementFileOf(configFile), `${JSON.stringify([...entries, entry], null, 1)}\n`, configFile);
  const { approvers, terms, approver, issuedAt } = entry.payload;
  return { approvers, terms: terms as Agreement['terms'], digest: digestOfEntry(entry), by: approver, at: issuedAt };
}

export function termsOf(config: Config): Terms {
  const terms = Object.fromEntries(agreedKeys.map((key) => [key, config[key]])) as Pick<Config, (typeof agreedKeys)[number]>;
  return { ...terms, requireSandbox: config.workspace.requireSandbox };
}

/** A configuration as it counts, and in words what of it does not count yet. */
export interface Agreed {
  readonly config: Config;
  readonly held: readonly string[];
}

/** Pins of the file that count: those that were agreed to. Taken out of the file, a pin stops counting at once. */
export function agreedPins(pins: readonly ApproverKey[], agreement: Agreement | undefined): readonly ApproverKey[] {
  if (agreement === undefined) return pins;
  const agreed = new Set(agreement.approvers.map(textOf));
  return pins.filter((pin) => agreed.has(textOf(pin)));
}

/** What of the pins waits for a person. */
export function heldPins(pins: readonly ApproverKey[], agreement: Agreement | undefined): readonly string[] {
  const counting = agreedPins(pins, agreement);
  return pins.filter((pin) => !counting.includes(pin)).map(({ name, key }) => `one more approver: \`${name}\` (${key})`);
}

/** The value that counts; what does not is noted. */
type Hold = <Value>(what: string, now: Value, before: Value, isLooser: boolean) => Value;

/** The configuration that counts. Values that nobody agreed to yet, of an origin that is new, count as they are. */
export function agreedConfig(config: Config, agreed: Terms | undefined): Agreed {
  if (agreed === undefined) return { config, held: [] };
  const held: string[] = [];
  const hold: Hold = (what, now, before, isLooser) => {
    if (!isLooser) return now;
    held.push(`${what}: ${shortly(before)} → ${shortly(now)}`);
    return before;
  };
  const { workspace } = config;
  const requireSandbox = hold(
    '`workspace.requireSandbox`',
    workspace.requireSandbox,
    agreed.requireSandbox,
    agreed.requireSandbox && !workspace.requireSandbox,
  );
  return {
    config: {
      ...config,
      securityLevel: hold(
        '`securityLevel`',
        config.securityLevel,
        agreed.securityLevel,
        rank(securityLevels, config.securityLevel) < rank(securityLevels, agreed.securityLevel),
      ),
      defaultModelTier: hold(
        '`defaultModelTier`',
        config.defaultModelTier,
        agreed.defaultModelTier,
        rank(modelTiers, config.defaultModelTier) > rank(modelTiers, agreed.defaultModelTier),
      ),
      approvals: hold('`approvals`', config.approvals, agreed.approvals, loosens(config.approvals, agreed.approvals)),
      store: hold('`store`', config.store, agreed.store, config.store !== agreed.store),
      tiers: tiersOf(config.tiers, agreed.tiers, held),
      protected: protectedOf(config.protected, agreed.protected, held),
      roles: entriesOf('role', config.roles, agreed.roles, held),
      scopes: entriesOf('scope', config.scopes, agreed.scopes, held),
      windows: entriesOf('window', config.windows, agreed.windows, held),
      hooks: hooksOf(config, agreed, hold),
      commandRules: rulesOf(config.commandRules, agreed.commandRules, held),
      clusters: clustersOf(config.clusters, agreed.clusters, held),
      workspace: { ...workspace, requireSandbox },
    },
    held,
  };
}

/** In any part of them: then none of the new rules counts, for half of two sets may be looser than either. */
function loosens(now: Config['approvals'], agreed: Config['approvals']): boolean {
  const rules = approvalRules({ approvals: now });
  return textOf(stricterRules(rules, approvalRules({ approvals: agreed }))) !== textOf(stricterRules(rules, rules));
}

/** Agreed to before there were any: as they come from the factory. */
function hooksOf({ hooks, defaultModelTier }: Config, agreed: Terms, hold: Hold): Config['hooks'] {
  const before = agreed.hooks ?? { shell: 'through-run' };
  const shell = hold('`hooks.shell`', hooks.shell, before.shell, rank(ownShellModes, hooks.shell) > rank(ownShellModes, before.shell));
  if (hooks.modelTier === undefined && before.modelTier === undefined) return { shell };
  const was = before.modelTier ?? agreed.defaultModelTier;
  const now = hooks.modelTier ?? defaultModelTier;
  const modelTier = hold('`hooks.modelTier`', now, was, rank(modelTiers, now) > rank(modelTiers, was));
  return { shell, modelTier };
}

function rank<T>(order: readonly T[], value: T): number {
  return order.indexOf(value);
}

function tiersOf(now: Config['tiers'], agreed: Config['tiers'], held: string[]): Config['tiers'] {
  const kept = Object.entries(agreed).filter(([tool, tier]) => now[tool] === undefined || stricterTier(now[tool], tier) !== now[tool]);
  for (const [tool, tier] of kept) held.push(`\`tiers.${tool}\`: ${tier} → ${now[tool] ?? 'as declared'}`);
  return { ...now, ...Object.fromEntries(kept) };
}

function protectedOf(now: Config['protected'], agreed: Config['protected'], held: string[]): Config['protected'] {
  const both = <Key extends 'nodes' | 'guests' | 'services' | 'addresses' | 'tags' | 'pools' | 'names'>(
    key: Key,
  ): Config['protected'][Key] => {
    const present = new Set(now[key].map((entry) => textOf(withoutReason(entry))));
    const gone = (agreed[key] ?? []).filter((entry: unknown) => !present.has(textOf(withoutReason(entry))));
    for (const entry of gone) held.push(`no longer protected: ${key} ${shortly(withoutReason(entry))}`);
    return [...now[key], ...gone] as Config['protected'][Key];
  };
  if (agreed.protectReads && !now.protectReads) held.push('`protected.protectReads`: true → false');
  if (now.deleteUnsaved && !agreed.deleteUnsaved) held.push('`protected.deleteUnsaved`: false → true');
  return {
    ...{ nodes: both('nodes'), guests: both('guests'), services: both('services'), addresses: both('addresses'), tags: both('tags') },
    ...{ pools: both('pools'), names: both('names') },
    deleteUnsaved: now.deleteUnsaved && agreed.deleteUnsaved,
    protectReads: now.protectReads || agreed.protectReads,
  };
}

/** `agent1` and `{ "name": "agent1", "reason": "…" }` protect the same. */
function withoutReason(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null) return entry;
  const { reason: _reason, ...rest } = entry as Record<string, unknown>;
  const values = Object.values(rest);
  return values.length === 1 ? values[0] : rest;
}

/**
 * All scopes of an agent hold, and so do all windows and roles: one more is stricter, and one that is gone or another stays beside what is written now.
 * @param agreed undefined: agreed to before there were any
 */
function entriesOf<Limit extends { readonly name: string; readonly reason: string }>(
  what: 'role' | 'scope' | 'window',
  now: readonly Limit[],
  agreed: readonly Limit[] | undefined,
  held: string[],
): Limit[] {
  const bare = ({ reason: _reason, ...rest }: Limit) => textOf(rest);
  const present = new Set(now.map(bare));
  const gone = (agreed ?? []).filter((entry) => !present.has(bare(entry)));
  for (const { name } of gone) held.push(`the ${what} \`${name}\` is gone or another`);
  return [...now, ...gone];
}

/** A new `allow` waits; an `ask` or `deny` that is gone or another stays. */
function rulesOf(now: Config['commandRules'], agreed: Config['commandRules'], held: string[]): Config['commandRules'] {
  const known = new Set(agreed.map(textOf));
  const present = new Set(now.map(textOf));
  const waiting = now.filter((rule) => rule.effect === 'allow' && !known.has(textOf(rule)));
  const gone = agreed.filter((rule) => rule.effect !== 'allow' && !present.has(textOf(rule)));
  for (const { id } of waiting) held.push(`one more rule that allows a command: \`${id}\``);
  for (const { id, effect } of gone) held.push(`the rule \`${id}\` (${effect}) is gone or another`);
  const kept = new Set(gone.map(({ id }) => id));
  return [...now.filter((rule) => !waiting.includes(rule) && !kept.has(rule.id)), ...gone];
}

/** SECURITY: another endpoint or fingerprint gets the token, so a cluster counts whole as it was agreed to. */
function clustersOf(now: Config['clusters'], agreed: Config['clusters'], held: string[]): Config['clusters'] {
  return now.flatMap((cluster) => {
    const before = agreed.find(({ name }) => name === cluster.name);
    if (before !== undefined && textOf(before) === textOf(cluster)) return [cluster];
    held.push(
      before === undefined
        ? `another cluster: ${shortly(summary(cluster))}`
        : `cluster \`${cluster.name}\`: ${differences(before, cluster)}`,
    );
    return before === undefined ? [] : [before];
  });
}

function summary({ name, endpoints, tokenId }: Config['clusters'][number]): unknown {
  return { name, endpoints, tokenId };
}

function differences(before: Config['clusters'][number], now: Config['clusters'][number]): string {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])] as (keyof typeof now)[];
  return keys
    .filter((key) => textOf(before[key]) !== textOf(now[key]))
    .map((key) => `\`${key}\` ${shortly(before[key])} → ${shortly(now[key])}`)
    .join(', ');
}

function textOf(value: unknown): string {
  return value === undefined ? '' : canonicalJson(JSON.parse(JSON.stringify(value)) as JsonObject);
}

function shortly(value: unknown): string {
  const text = value === undefined ? 'nothing' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text;
}
