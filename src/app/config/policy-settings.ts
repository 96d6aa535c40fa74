/** The deciding part of the configuration, and a version that changes whenever a decision could; rules that people set are added later. */
import { createHash } from 'node:crypto';
import type { Finding } from '#kernel/app';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';
import { stricterTier } from '#kernel/tiers';
import type { PolicySettings } from '#pipeline/deps';
import type { ProtectedList } from '#policy/protected-resources';
import { decideSshCommand } from '#policy/ssh/decide-ssh-command';
import { redactText } from '#redaction/redact';
import { catalog } from '../catalog.ts';
import type { Config } from './config.ts';

export function policySettings(config: Config, appVersion: string): PolicySettings {
  const { securityLevel, tiers, commandRules } = config;
  const protectedList = protectedListOf(config.protected);
  const { requireSandbox } = config.workspace;
  const deciding = { protectedList, securityLevel, tiers, commandRules, requireSandbox, appVersion } as unknown as JsonObject;
  const version = createHash('sha256').update(canonicalJson(deciding)).digest('hex').slice(0, 16);
  return {
    securityLevel,
    rules: async () => [],
    protectedList,
    tiers,
    requireSandbox,
    decideSsh: (text) => decideSshCommand(text, commandRules),
    version,
  };
}

type Protected = Config['protected'];

/** The list as the policy takes it. What people wrote as reasons is cleaned here, once: it reaches models, cards and terminals. */
export function protectedListOf({ nodes, guests, services, addresses, tags, deleteUnsaved, protectReads }: Protected): ProtectedList {
  const reasons: Record<string, string> = {};
  const known = <T extends string | number>(list: string, entry: T, why: string | undefined): T => {
    if (why !== undefined)
      reasons[`protected.${list}:${entry}`] ??= redactText(showPlainly(why, 300), { knownSecrets: [], maxStringLength: 1_000 });
    return entry;
  };
  return {
    nodes: nodes.map((entry) => (typeof entry === 'string' ? entry : known('nodes', entry.name, entry.reason))),
    guests: guests.map((entry) => (typeof entry === 'number' ? entry : known('guests', entry.vmid, entry.reason))),
    services: services.map((entry) => {
      if (typeof entry === 'string') return entry;
      const name = known('services', entry.name, entry.reason);
      return 'node' in entry ? { name, node: entry.node } : name;
    }),
    addresses: addresses.map((entry) => (typeof entry === 'string' ? entry : known('addresses', entry.address, entry.reason))),
    protectReads,
    ...(tags.length === 0
      ? {}
      : {
          tags: tags.map((entry) =>
            typeof entry === 'string'
              ? { tag: entry, except: [] }
              : { tag: known('tags', entry.tag, entry.reason), except: entry.except ?? [] },
          ),
        }),
    ...(deleteUnsaved ? { deleteUnsaved } : {}),
    ...(Object.keys(reasons).length === 0 ? {} : { reasons }),
  };
}

/** `tiers` can only make a tool stricter; an entry that does nothing is probably a mistake. */
export function uselessTiers(config: Config): readonly (Finding & { readonly remedy: string })[] {
  return Object.entries(config.tiers).flatMap(([name, tier]) => {
    const own = catalog.find((entry) => entry.name === name)?.tier;
    if (own === undefined || own === tier || stricterTier(own, tier) !== own) return [];
    return [
      {
        topic: 'tiers',
        state: 'warning' as const,
        message: `\`tiers.${name}\` has no effect: \`${name}\` is ${own} already, and configuration only makes a tool stricter`,
        remedy: 'correct or remove the entry',
      },
    ];
  });
}
