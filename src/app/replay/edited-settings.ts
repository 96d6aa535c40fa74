/** The part of a configuration that decides, as somebody edited it. */

import * as z from 'zod';
import { autoApproveActions } from '#kernel/approval/security';
import { Fault, reasonOf } from '#kernel/errors';
import { canonicalJson, isJsonObject, type JsonObject } from '#kernel/json';
import { say } from '#kernel/text/message';
import { parseRulePattern } from '#policy/auto-approve';
import { catalog } from '../catalog.ts';
import { agreedConfig, termsOf } from '../config/agreement.ts';
import { type Config, parseConfig } from '../config/config.ts';

const decidingKeys = [
  ...['securityLevel', 'protected', 'roles', 'scopes', 'windows', 'tiers', 'commandRules', 'hooks'],
] as const satisfies readonly (keyof Config)[];

export interface RuleSetting {
  readonly pattern: string;
  readonly action: (typeof autoApproveActions)[number];
}

/** What decides: the configuration, with the level that counts, and people's rules from the store. */
export interface Deciding {
  readonly config: Config;
  readonly rules: readonly RuleSetting[];
}

const rulesSchema = z.array(z.strictObject({ pattern: z.string(), action: z.enum(autoApproveActions) })).max(1_000);

/** For a person who edits it: what is as it is by default is left out. */
export function settingsShown({ config, rules }: Deciding): JsonObject {
  const defaults = parseConfig({}, 'defaults');
  const shown = decidingKeys.filter((key) => key === 'securityLevel' || !same(config[key], defaults[key])).map((key) => [key, config[key]]);
  const sandbox = config.workspace.requireSandbox ? { workspace: { requireSandbox: true } } : {};
  return {
    ...(Object.fromEntries(shown) as JsonObject),
    ...sandbox,
    autoApprove: rules.map(({ pattern, action }) => ({ pattern, action })),
  };
}

/**
 * A whole configuration may be given; what does not decide is left aside. INVARIANT: a deciding key that is not there has its default, as in the
 * file: who takes `protected` out is told what that changes.
 * @throws {Fault} `bad_config`
 */
export function editedSettings(raw: unknown, now: Deciding, origin: string): Deciding {
  if (!isJsonObject(raw))
    throw new Fault('bad_config', say`${origin}: must be a JSON object`, { audience: 'user', next: 'see docs/policy.md' });
  const { autoApprove, ...configuration } = raw;
  const [parsed, rules] = bothOf(
    () => parseConfig(configuration, origin),
    () => (autoApprove === undefined ? now.rules : editedRules(autoApprove, origin)),
  );
  const level = Object.hasOwn(configuration, 'securityLevel') ? parsed.securityLevel : now.config.securityLevel;
  const chosen = Object.fromEntries(decidingKeys.map((key) => [key, parsed[key]])) as Pick<Config, (typeof decidingKeys)[number]>;
  const { requireSandbox } = parsed.workspace;
  return { config: { ...now.config, ...chosen, securityLevel: level, workspace: { ...now.config.workspace, requireSandbox } }, rules };
}

/** What is wrong with either is told at once. @throws {Fault} `bad_config` */
function bothOf<A, B>(first: () => A, second: () => B): readonly [A, B] {
  let one: A;
  try {
    one = first();
  } catch (thrown) {
    const flaw = flawOf(second);
    if (flaw === undefined || !(thrown instanceof Fault)) throw thrown;
    throw new Fault('bad_config', say`${thrown.message} | ${flaw}`, { audience: 'user', next: 'correct the named fields and try again' });
  }
  return [one, second()];
}

function flawOf(make: () => unknown): string | undefined {
  try {
    make();
    return undefined;
  } catch (thrown) {
    return reasonOf(thrown);
  }
}

const yellow = catalog.filter(({ tier }) => tier === 'yellow').map(({ name }) => name);

function editedRules(raw: unknown, origin: string): readonly RuleSetting[] {
  const parsed = rulesSchema.safeParse(raw);
  const flaws = parsed.success
    ? parsed.data.flatMap(({ pattern }, index) => {
        const read = parseRulePattern(pattern, yellow);
        return read.ok ? [] : [`\`autoApprove.${index}.pattern\`: ${read.why}`];
      })
    : parsed.error.issues.map(({ path, message }) => `\`${['autoApprove', ...path].join('.')}\`: ${message}`);
  if (parsed.success && flaws.length === 0) return parsed.data;
  throw new Fault('bad_config', say`${origin}: ${flaws.slice(0, 20).join(' | ')}`, {
    audience: 'user',
    next: 'correct the named field and try again',
  });
}

/** Keys that differ. */
export function differing(before: Deciding, after: Deciding): readonly string[] {
  const keys: string[] = decidingKeys.filter((key) => !same(before.config[key], after.config[key]));
  if (before.config.workspace.requireSandbox !== after.config.workspace.requireSandbox) keys.push('workspace.requireSandbox');
  return same(before.rules, after.rules) ? keys : [...keys, 'autoApprove'];
}

/** What is looser, in the words of the agreement that it needs. */
export function loosened(before: Deciding, after: Deciding): readonly string[] {
  const { held } = agreedConfig(after.config, termsOf(before.config));
  const known = new Set(before.rules.map(({ pattern, action }) => `${pattern} ${action}`));
  const added = after.rules.filter(({ pattern, action }) => action === 'allow' && !known.has(`${pattern} ${action}`));
  const kept = new Set(after.rules.map(({ pattern, action }) => `${pattern} ${action}`));
  const dropped = before.rules.filter(({ pattern, action }) => action !== 'allow' && !kept.has(`${pattern} ${action}`));
  return [
    ...held,
    ...added.map(({ pattern }) => `auto-approve rule \`${pattern}\`: allow`),
    ...dropped.map(({ pattern, action }) => `auto-approve rule \`${pattern}\` (${action}) is gone`),
  ];
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson((a ?? null) as JsonObject) === canonicalJson((b ?? null) as JsonObject);
}
