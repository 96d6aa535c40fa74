/** The closed vocabularies (docs/design.md#words). Each list is the single source of its union type. */
import { type Message, say } from './text/message.ts';

export const actionTiers = ['green', 'yellow', 'red', 'black'] as const;
/** How dangerous a call is: `green` runs, `yellow` runs and is logged first, `red` needs a grant, `black` never runs. */
export type ActionTier = (typeof actionTiers)[number];

export const modelTiers = ['basic', 'intermediate', 'advanced'] as const;
/** What kind of tool a model may use at all. */
export type ModelTier = (typeof modelTiers)[number];

export const securityLevels = ['relaxed', 'balanced', 'strict'] as const;
/** How the action tiers are applied; `balanced` is the default. */
export type SecurityLevel = (typeof securityLevels)[number];

export const impacts = ['none', 'reversible', 'disruptive', 'irreversible'] as const;
/** What a tool does at worst; declared per tool. */
export type Impact = (typeof impacts)[number];

/** Of what a call does, for people: `It …`. */
export const impactWords: Readonly<Record<Impact, Message>> = {
  none: say`changes nothing`,
  reversible: say`can be undone`,
  disruptive: say`interrupts what runs there`,
  irreversible: say`cannot be undone`,
};

export const permissions = [
  'file:read',
  'code:search',
  'data:read',
  'system:execute:readonly',
  'cluster:operate',
  'file:write',
  'system:execute',
  'data:write',
] as const;
/** What a tool needs from its caller's model tier. */
export type Permission = (typeof permissions)[number];

export const toolGroups = ['cluster', 'workspace', 'security'] as const;
export type ToolGroup = (typeof toolGroups)[number];

/** The stricter of two action tiers. */
export function stricterTier(a: ActionTier, b: ActionTier): ActionTier {
  return actionTiers.indexOf(a) >= actionTiers.indexOf(b) ? a : b;
}
