/** The deciding part of the configuration, and a version that changes whenever a decision could; rules that people set are added later. */
import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { PolicySettings } from '#pipeline/deps';
import { decideSshCommand } from '#policy/commands/decide-ssh-command';
import type { Config } from './config.ts';

export function policySettings(config: Config, appVersion: string): PolicySettings {
  const { protected: protectedList, securityLevel, tiers, commandRules } = config;
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
