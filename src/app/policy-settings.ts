/** The deciding part of the configuration, and a version that changes whenever a decision could. */
import { createHash } from 'node:crypto';
import { deny } from '#kernel/decision';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { PolicySettings } from '#pipeline/deps';
import type { CommandDecision } from '#policy/commands/command-decision';
import { decideSshCommand } from '#policy/commands/decide-ssh-command';
import type { Config } from './config.ts';

export function policySettings(config: Config, appVersion: string): PolicySettings {
  const { protected: protectedList, securityLevel, tiers, commandRules } = config;
  const deciding = { protectedList, securityLevel, tiers, commandRules, appVersion } as unknown as JsonObject;
  const version = createHash('sha256').update(canonicalJson(deciding)).digest('hex').slice(0, 16);
  return {
    securityLevel,
    protectedList,
    tiers,
    decideCommand: (surface, text) => (surface === 'ssh' ? decideSshCommand(text, commandRules) : noWorkspace),
    version,
  };
}

const noWorkspace: CommandDecision = {
  decision: deny('COMMAND_BLOCKED', 'commands in a workspace are not part of this version', ['no-workspace']),
};
