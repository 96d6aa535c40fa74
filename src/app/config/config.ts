/** The configuration: one schema, parsed once at the edge. The editor's settings `banksman.*` are its top-level keys. */

import * as z from 'zod';
import { anyKeyPattern } from '#approval/keys';
import { isPageOrigin, passkeyPattern } from '#approval/passkey';
import type { ApprovalRules } from '#approval/rules';
import { canonicalAddress } from '#kernel/address';
import { ownShellModes } from '#kernel/agent-call';
import { keyKinds } from '#kernel/approval/answer';
import { displays } from '#kernel/approval/security';
import { nodeNamePattern } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import { issueWords, valueAt } from '#kernel/text/issue-words';
import { say } from '#kernel/text/message';
import { actionTiers, impacts, modelTiers, securityLevels } from '#kernel/tiers';
import { userRulesSchema } from '#policy/user-rules';
import { redactJson } from '#redaction/redact';
import { catalog } from '../catalog.ts';
import { sinksSchema } from '../sinks/sink-schema.ts';
import { storePattern, storeStarts } from '../store/engines.ts';
import { namePattern, nodeName, poolName, reason, rolesSchema, scopesSchema, tag, vmid, windowsSchema } from './scope-schema.ts';
import { witnessesSchema } from './witness-schema.ts';

const fingerprint = z
  .string()
  .regex(/^(?:[0-9a-fA-F]{2}:){31}[0-9a-fA-F]{2}$/, 'must be a SHA-256 fingerprint: 32 pairs of hex digits with colons')
  .transform((text) => text.toUpperCase());

const address = z
  // Stricter than what callers may write: `192.168.1.0/24` or `61` would protect one address that nobody meant.
  .union([z.ipv4(), z.ipv6()], 'must be one IPv4 or IPv6 address, without prefix length or port')
  .transform((text) => canonicalAddress(text) ?? text);

const endpoint = z
  .url({ protocol: /^https$/, error: 'must be an https URL such as `https://10.0.0.11:8006`' })
  .refine(hasNoCredentials, 'must hold no user name or password: the API token goes into `tokenFile`');

const tls = z
  .union(
    [
      z.strictObject({ fingerprint: z.union([fingerprint, z.record(endpoint, fingerprint)]) }),
      z.strictObject({ caFile: z.string().min(1) }),
    ],
    'must be `{ "fingerprint": "AA:BB:…" }` (SHA-256; or a map by endpoint), `{ "caFile": "…" }`, or left out; verification cannot be switched off',
  )
  .meta({
    description:
      'A pinned SHA-256 fingerprint (one, or one per endpoint) or a CA file; absent: the system CAs. There is no way to switch verification off.',
  });

const sshNode = z.strictObject({
  host: z.string().min(1),
  port: z.number().int().min(1).max(65_535).default(22),
  aliases: z.array(z.string().min(1)).default([]),
});

const ssh = z.strictObject({
  user: z.string().min(1).default('root'),
  knownHosts: z.string().min(1).default('~/.ssh/known_hosts'),
  identityFiles: z.array(z.string().min(1)).default([]),
  agent: z.boolean().default(true),
  nodes: z.record(z.string().regex(nodeNamePattern), sshNode).default({}),
});

const macAddress = z.string().regex(/^(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$/, 'must be a MAC address');

const wake = z.strictObject({
  via: z.array(z.enum(['pve', 'http', 'packet'])).default(['pve']),
  http: z
    .url({ protocol: /^https?$/ })
    .refine((url) => /\{node\}|%7Bnode%7D/i.test(url), 'must hold `{node}`')
    .optional(),
  mac: z.record(z.string(), macAddress).default({}),
  broadcast: address.optional(),
});

export const clusterSchema = z.strictObject({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be letters, digits, `_` or `-`'),
  endpoints: z.array(endpoint).min(1),
  tokenId: z.string().regex(/^[^\s:/!]+@[A-Za-z][A-Za-z0-9._-]+![A-Za-z][A-Za-z0-9._-]+$/, 'must be `user@realm!tokenname`'),
  tokenFile: z.string().min(1).optional(),
  tls: tls.optional(),
  ssh: ssh.optional(),
  wake: wake.optional(),
});
export type ClusterConfig = z.output<typeof clusterSchema>;

const serviceName = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_.@:-]*$/, 'must be a systemd unit name such as `docker`');

const why = reason.optional();

/** Each entry is the thing itself, or an object that says why, too. */
const protectedSchema = z.strictObject({
  nodes: z
    .array(
      z.union(
        [nodeName, z.strictObject({ name: nodeName, reason: why })],
        'must be a node’s own name (letters, digits, `_` or `-`), or `{ "name": "agent1", "reason": "…" }`; addresses go into `addresses`',
      ),
    )
    .default([]),
  guests: z
    .array(z.union([vmid, z.strictObject({ vmid, reason: why })], 'must be a VMID from 100 on, or `{ "vmid": 103, "reason": "…" }`'))
    .default([]),
  /** Without `node` an entry counts on protected and derived nodes; with `"node": "*"` everywhere, with a node's name there too. */
  services: z
    .array(
      z.union(
        [
          serviceName,
          z.strictObject({ name: serviceName, node: z.union([z.literal('*'), nodeName]), reason: why }),
          z.strictObject({ name: serviceName, reason }),
        ],
        'must be a unit name such as `docker`, or `{ "name": "docker", "node": "pve", "reason": "…" }` (`"*"`: every node)',
      ),
    )
    .default([]),
  addresses: z
    .array(
      z.union(
        [address, z.strictObject({ address, reason: why })],
        'must be one IPv4 or IPv6 address, without prefix length or port, or `{ "address": "192.168.1.61", "reason": "…" }`',
      ),
    )
    .default([]),
  /** A guest that bears the tag is protected, and so is one that lost it: `except` names those that a person let go. */
  tags: z
    .array(
      z.union(
        [tag, z.strictObject({ tag, reason: why, except: z.array(vmid).exactOptional() })],
        'must be a tag such as `prod`, or `{ "tag": "prod", "reason": "…", "except": [105] }`',
      ),
    )
    .default([]),
  /** Guests in the pool, or in one below it. */
  pools: z
    .array(
      z.union(
        [poolName, z.strictObject({ pool: poolName, reason: why })],
        'must be a pool such as `prod`, or `{ "pool": "prod", "reason": "…" }`',
      ),
    )
    .default([]),
  /** Guests by their names. */
  names: z
    .array(
      z.union(
        [namePattern, z.strictObject({ pattern: namePattern, reason: why })],
        'must be a guest’s name in which `*` and `?` stand for others, or `{ "pattern": "db-*", "reason": "…" }`',
      ),
    )
    .default([]),
  /** Guests of which the token sees no backup may be deleted. */
  deleteUnsaved: z.boolean().default(false),
  protectReads: z.boolean().default(false),
});

const ms = (fallback: number) => z.number().int().min(10).max(fallback).default(fallback);

/** Time limits in ms. They can only be made shorter than the defaults. */
const limitsSchema = z.strictObject({
  callMs: ms(60_000),
  apiMs: ms(15_000),
  sshMs: ms(30_000),
  slowMs: ms(10_000),
});

/** How long a call waits for a person, per surface, in ms (docs/design.md#requests-and-grants). */
const approvalWaitSchema = z.strictObject({
  editor: z.number().int().min(0).max(3_600_000).default(120_000),
  mcp: z.number().int().min(0).max(3_600_000).default(40_000),
  cli: z.number().int().min(0).max(3_600_000).default(0),
});

const personName = z.string().trim().min(1).max(200);

/** Passkeys are made with `banksman approvers enroll`, which writes them here. */
const passkeySchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,1400}$/, 'must be a credential’s id in base64url'),
  origin: z.string().refine(isPageOrigin, 'must be `https://name`, `http://localhost` or either with a port, and nothing more'),
  display: z.enum(displays),
  enrolledAt: z.iso.datetime(),
  device: z.string().max(500).exactOptional(),
});

const approverSchema = z
  .strictObject({
    name: personName,
    key: z.string().regex(anyKeyPattern, 'must be `ed25519:` and 43 base64url characters, or a passkey’s `es256:` or `eddsa:` key'),
    person: personName.exactOptional(),
    kind: z.enum(keyKinds).exactOptional(),
    passkey: passkeySchema.exactOptional(),
  })
  .refine(({ key, passkey }) => passkeyPattern.test(key) === (passkey !== undefined), {
    path: ['passkey'],
    error: 'must stand beside an `es256:` or `eddsa:` key, and beside no other',
  });

const perImpact = <Value extends z.ZodType>(value: Value) => ({
  none: value,
  reversible: value,
  disruptive: value,
  irreversible: value,
});

/** Who may approve what, by the impact of the call: absent is one person, any approver. */
const approvalsSchema = z.strictObject({
  /** How many people have to agree. */
  ...perImpact(z.number().int().min(1).max(5).exactOptional()),
  /** Whose approvals count; an empty list: nobody's. */
  who: z.strictObject(perImpact(z.array(personName).exactOptional())).prefault({}),
  /** Counts only on a display outside the agents' account; irreversible calls always where a passkey is pinned. */
  outside: z.array(z.enum(impacts)).default([]),
  /** False: nobody approves what an agent of their own OS user asked. */
  ownUser: z.boolean().default(true),
});

/** What the journal of runs keeps for undo: beyond either limit the oldest go first. */
const undoSchema = z.strictObject({
  bytes: z
    .number()
    .int()
    .min(2 ** 20)
    .max(2 ** 42)
    .default(5 * 2 ** 30),
  days: z.number().int().min(1).max(365).default(14),
});

const workspaceSchema = z
  .strictObject({ root: z.string().default('.'), requireSandbox: z.boolean().default(false), undo: undoSchema.prefault({}) })
  .prefault({});

/** Compared as a whole with what a browser sends, so as a browser writes it. */
const pageOrigin = (scheme: 'http:' | 'https:') =>
  z
    .string()
    .refine(
      (text) => text.startsWith(scheme) && isPageOrigin(text),
      'must be `http://localhost:PORT`, or `https://NAME` beside `certFile` and `keyFile`: no address, no path, no port that is the usual one',
    );

/** The page on which people approve with a passkey. No address: a browser knows no passkeys of one. */
const pageSchema = z
  .union(
    [
      z.strictObject({ origin: pageOrigin('http:'), demo: z.literal(true).exactOptional() }),
      z.strictObject({
        origin: pageOrigin('https:'),
        host: address.default('0.0.0.0'),
        certFile: z.string().min(1),
        keyFile: z.string().min(1),
      }),
    ],
    'must be `{ "origin": "http://localhost:779" }`, or `{ "origin": "https://NAME", "certFile": "…", "keyFile": "…" }` with a host name in lower case, no address and no path',
  )
  .optional();
export type PageConfig = NonNullable<z.output<typeof pageSchema>>;

/** Coding agents whose own tools are judged through a hook (docs/hooks.md). */
const hooksSchema = z
  .strictObject({
    shell: z.enum(ownShellModes).default('through-run'),
    /** Of an agent whose hook does not say which model it is; absent: `defaultModelTier`. */
    modelTier: z.enum(modelTiers).exactOptional(),
  })
  .prefault({});

export const configSchema = z.strictObject({
  clusters: z.array(clusterSchema).default([]),
  protected: protectedSchema.prefault({}),
  roles: rolesSchema.default([]),
  scopes: scopesSchema.default([]),
  windows: windowsSchema.default([]),
  securityLevel: z.enum(securityLevels).default('balanced'),
  defaultModelTier: z.enum(modelTiers).default('intermediate'),
  tiers: z.record(z.string(), z.enum(actionTiers)).default({}),
  commandRules: userRulesSchema.default([]),
  approvers: z.array(approverSchema).default([]),
  approvals: approvalsSchema.prefault({}),
  store: z.string().regex(storePattern, `must start with ${storeStarts}`).default('sqlite:'),
  workspace: workspaceSchema,
  limits: limitsSchema.prefault({}),
  approvalWait: approvalWaitSchema.prefault({}),
  page: pageSchema,
  hooks: hooksSchema,
  sinks: sinksSchema.default([]),
  witnesses: witnessesSchema,
});
export type Config = z.output<typeof configSchema>;

/** An editor checks and completes the file by what `$schema` names; it means nothing to us. */
const fileSchema = configSchema.extend({ $schema: z.string().exactOptional() });

/** The configuration as JSON Schema 2020-12, for editors. What one key means for another (`approvals`, `tiers`) is looked at by `parseConfig` only. */
export function configJsonSchema(): object {
  return { title: 'Banksman configuration', ...z.toJSONSchema(fileSchema, { io: 'input' }) };
}

export function approvalRules({ approvals: { who, outside, ownUser, ...needed } }: Pick<Config, 'approvals'>): ApprovalRules {
  return { needed, who, outside, ownUser };
}

/** The line of a file on which the value of this path stands, counted from 1. */
type LineOf = (path: readonly PropertyKey[]) => number | undefined;

/**
 * Parses a configuration from outside.
 * @throws {Fault} `bad_config` that names the field, what was found and what is allowed.
 */
export function parseConfig(raw: unknown, origin: string, lineOf: LineOf = () => undefined): Config {
  const parsed = fileSchema.safeParse(raw, { error: issueWords });
  if (!parsed.success) throw badConfig(parsed.error, { raw, origin, lineOf });
  const { $schema: _schema, ...config } = parsed.data;
  const names = config.clusters.map((cluster) => cluster.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Fault('bad_config', say`${origin}: \`clusters\`: two are named \`${twice}\`; give each its own name`);
  requireEnoughPeople(config, origin);
  const stranger = Object.keys(config.tiers).find((name) => !toolNames.has(name));
  if (stranger !== undefined) throw noSuchTool(stranger, origin);
  return config;
}

/** SECURITY: said at once, and not when the first call waits for a person that there is not. */
function requireEnoughPeople({ approvals }: Config, origin: string): void {
  const short = impacts.find((impact) => (approvals.who[impact]?.length ?? Number.POSITIVE_INFINITY) < (approvals[impact] ?? 0));
  if (short === undefined) return;
  const message = say`${origin}: \`approvals\`: ${approvals[short] ?? 0} people have to approve what is ${short}, but \`who\` names fewer`;
  throw new Fault('bad_config', message, { next: 'name more, or want fewer' });
}

const toolNames: ReadonlySet<string> = new Set(catalog.map((tool) => tool.name));

/** SECURITY: not a warning. Whoever misspells the tool believes that another one is stricter than it is. */
function noSuchTool(name: string, origin: string): Fault {
  return new Fault(
    'bad_config',
    say`${origin}: \`tiers\`: no tool is named \`${name.slice(0, 100)}\`; allowed: ${[...toolNames].join(', ')}`,
    {
      next: 'correct or remove the entry and try again',
    },
  );
}

/** So many are named at a time. */
const namedFaults = 5;

function badConfig(error: z.ZodError, { raw, origin, lineOf }: { raw: unknown; origin: string; lineOf: LineOf }): Fault {
  const lines = error.issues.slice(0, namedFaults).map((issue) => {
    const field = issue.path.join('.') || '(top level)';
    // The value beside an unknown key is not shown: it may be a secret that somebody put in the wrong place.
    const stranger = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    const line = lineOf([...issue.path, ...stranger]);
    const where = line === undefined ? '' : `line ${line}: `;
    if (issue.code === 'unrecognized_keys')
      return `${where}\`${field}\`: ${issue.message}; allowed here: ${allowedKeys(issue.path).join(', ')}`;
    return `${where}\`${field}\`: ${issue.message}; found ${shortly(valueAt(raw, issue.path), issue.path.at(-1))}`;
  });
  const more = error.issues.length > namedFaults ? `; and ${error.issues.length - namedFaults} more` : '';
  return new Fault('bad_config', say`${origin}: ${lines.join(' | ')}${more}`, {
    audience: 'operator',
    next: 'correct the named field and try again',
  });
}

function allowedKeys(path: readonly PropertyKey[]): readonly string[] {
  let schema: unknown = configSchema;
  for (const key of path) schema = step(schema, key);
  schema = unwrap(schema);
  const shapes: readonly unknown[] = schema instanceof z.ZodUnion ? schema.options : [schema];
  return [...new Set(shapes.flatMap((shape) => (shape instanceof z.ZodObject ? Object.keys(shape.shape) : [])))];
}

function step(schema: unknown, key: PropertyKey): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) return inner.shape[String(key)];
  if (inner instanceof z.ZodArray) return inner.element;
  if (inner instanceof z.ZodRecord) return inner.valueType;
  return undefined;
}

function unwrap(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault || inner instanceof z.ZodOptional) inner = inner.unwrap();
  return inner;
}

/** SECURITY: what stands in the wrong place may be a secret (a whole token as `tokenId`, a private key as `key`). */
function shortly(value: unknown, field: PropertyKey | undefined): string {
  if (value === undefined) return 'nothing';
  const shown = field === 'tokenId' && typeof value === 'string' ? value.replace(/=.*$/s, '=…') : value;
  const plain = redactJson(JSON.parse(JSON.stringify(shown) ?? 'null'), { knownSecrets: [], maxStringLength: 1_000 });
  const text = JSON.stringify(plain);
  return `\`${text.length > 80 ? `${text.slice(0, 80)}…` : text}\``;
}

function hasNoCredentials(url: string): boolean {
  return !URL.canParse(url) || (new URL(url).username === '' && new URL(url).password === '');
}
