/** The deciding part of the configuration, and a version that changes whenever a decision could. */
import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { PolicySettings } from '#pipeline/deps';
import type { Config } from './config.ts';

export function policySettings(config: Config, appVersion: string): PolicySettings {
  const { protected: protectedList, securityLevel, tiers } = config;
  const deciding = { protectedList, securityLevel, tiers, appVersion } as unknown as JsonObject;
  const version = createHash('sha256').update(canonicalJson(deciding)).digest('hex').slice(0, 16);
  return { securityLevel, protectedList, tiers, version };
}
