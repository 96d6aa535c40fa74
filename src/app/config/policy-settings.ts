/** The deciding part of the configuration, and a version that changes whenever a decision could; rules that people set are added later. */

import { createHash } from 'node:crypto';
import { systemClock } from '#execution/deadline';
import type { Finding } from '#kernel/app';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import { say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { stricterTier } from '#kernel/tiers';
import type { PolicySettings } from '#pipeline/deps';
import type { ProtectedList } from '#policy/protected-resources';
import { budgetSpan, scopeInWords, spentOf } from '#policy/scopes/scopes';
import { windowsInWords } from '#policy/scopes/windows';
import { redactText } from '#redaction/redact';
import { catalog } from '../catalog.ts';
import { finding } from '../finding.ts';
import type { Config } from './config.ts';

export function policySettings(config: Config, appVersion: string): PolicySettings {
  const { securityLevel, tiers, commandRules, hooks } = config;
  const { scopes, windows } = scopesAndWindows(config);
  const roles = config.roles.map((role) => ({ ...role, reason: cleanReason(role.reason) }));
  const protectedList = protectedListOf(config.protected);
  const { requireSandbox } = config.workspace;
  const deciding = {
    protectedList,
    securityLevel,
    tiers,
    commandRules,
    hooks,
    requireSandbox,
    roles,
    scopes,
    windows,
    appVersion,
  } as unknown as JsonObject;
  const version = createHash('sha256').update(canonicalJson(deciding)).digest('hex').slice(0, 16);
  return {
    securityLevel,
    rules: async () => [],
    protectedList,
    roles,
    scopes,
    windows,
    tiers,
    requireSandbox,
    // The pages of commands are a tenth of what a call would load: only one that has a command for a node needs them.
    decideSsh: async (text) => (await import('#policy/ssh/decide-ssh-command')).decideSshCommand(text, commandRules),
    version,
  };
}

/** What people wrote as a reason reaches models, cards and terminals: it is cleaned once. */
function cleanReason(why: string): string {
  return redactText(showPlainly(why, 300), { knownSecrets: [], maxStringLength: 1_000 });
}

function scopesAndWindows({ scopes, windows }: Pick<Config, 'scopes' | 'windows'>): Pick<PolicySettings, 'scopes' | 'windows'> {
  return {
    scopes: scopes.map((scope) => ({ ...scope, reason: cleanReason(scope.reason) })),
    windows: windows.map((window) => ({ ...window, reason: cleanReason(window.reason) })),
  };
}

/** The list as the policy takes it. */
export function protectedListOf(given: Config['protected']): ProtectedList {
  const { nodes, guests, services, addresses, tags, pools, names, deleteUnsaved, protectReads } = given;
  const reasons: Record<string, string> = {};
  const known = <T extends string | number>(list: string, entry: T, why: string | undefined): T => {
    if (why !== undefined) reasons[`protected.${list}:${entry}`] ??= cleanReason(why);
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
    ...(pools.length === 0
      ? {}
      : { pools: pools.map((entry) => (typeof entry === 'string' ? entry : known('pools', entry.pool, entry.reason))) }),
    ...(names.length === 0
      ? {}
      : { names: names.map((entry) => (typeof entry === 'string' ? entry : known('names', entry.pattern, entry.reason))) }),
    ...(deleteUnsaved ? { deleteUnsaved } : {}),
    ...(Object.keys(reasons).length === 0 ? {} : { reasons }),
  };
}

/** `tiers` can only make a tool stricter; an entry that does nothing is probably a mistake. */
export function uselessTiers(config: Config): readonly Finding[] {
  return Object.entries(config.tiers).flatMap(([name, tier]) => {
    const own = catalog.find((entry) => entry.name === name)?.tier;
    if (own === undefined || own === tier || stricterTier(own, tier) !== own) return [];
    return [
      finding(
        'tiers',
        'warning',
        say`\`tiers.${name}\` has no effect: \`${name}\` is ${own} already, and configuration only makes a tool stricter`,
        say`correct or remove the entry`,
      ),
    ];
  });
}

/** What scopes and windows say now. */
export async function limitFindings(config: Config, audit: Pick<AuditLog, 'changesSince'>): Promise<readonly Finding[]> {
  const { scopes, windows } = scopesAndWindows(config);
  const now = systemClock.now();
  const counts = scopes.some(({ changesPerDay }) => changesPerDay !== undefined);
  const spent = new Map(counts ? await audit.changesSince(now - budgetSpan).catch(() => []) : []);
  return [
    ...scopes.map(({ agents, ...scope }): Finding => {
      const message = say`${agents.join(', ')}: ${scopeInWords({ agents, ...scope }, spent)}`;
      const isUsedUp = scope.changesPerDay !== undefined && spentOf({ agents, ...scope }, spent) >= scope.changesPerDay;
      return isUsedUp
        ? finding('scopes', 'warning', message, say`wait, or raise \`changesPerDay\` of the scope`)
        : finding('scopes', 'ok', message);
    }),
    ...windowsInWords(windows, now).map(({ words }) => finding('windows', 'ok', words)),
  ];
}
