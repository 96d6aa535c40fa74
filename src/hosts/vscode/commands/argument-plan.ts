/** What to ask a person for before a tool runs from the palette, derived from its schema. */
import { isJsonObject } from '#kernel/json';
import type { GuestType } from '#kernel/resource';
import type { ToolDescription } from '#kernel/tool';

export type ArgumentStep =
  | { readonly kind: 'cluster' }
  /** Fills `vmid` and `node` from the live list. `running`: keep only (false: not) running guests. */
  | { readonly kind: 'guest'; readonly guestType?: GuestType; readonly running?: boolean }
  | { readonly kind: 'node'; readonly offlineFirst: boolean }
  | {
      readonly kind: 'choice';
      readonly name: string;
      readonly prompt: string;
      readonly values: readonly string[];
      readonly required: boolean;
    }
  | { readonly kind: 'text'; readonly name: string; readonly prompt: string; readonly pattern?: string; readonly required: boolean };

/** For models only: a person pages in the result's document, and needs to give themselves no reason. */
const skipped = new Set(['limit', 'cursor', 'filter', 'reason']);

export function argumentPlan(tool: ToolDescription): readonly ArgumentStep[] {
  const properties = isJsonObject(tool.inputSchema.properties) ? tool.inputSchema.properties : {};
  const required = new Set(Array.isArray(tool.inputSchema.required) ? tool.inputSchema.required : []);
  const names = Object.keys(properties).filter((name) => !skipped.has(name) && !(name === 'node' && 'vmid' in properties));
  // The cluster first: the live lists depend on it.
  const ordered = [...names].sort((a, b) => Number(b === 'cluster') - Number(a === 'cluster'));
  return ordered.map((name) => stepFor(tool, name, { schema: properties[name], required: required.has(name) }));
}

function stepFor(
  tool: ToolDescription,
  name: string,
  { schema, required }: { readonly schema: unknown; readonly required: boolean },
): ArgumentStep {
  if (name === 'cluster') return { kind: 'cluster' };
  if (name === 'vmid') return guestStep(tool.name);
  if (name === 'node') return { kind: 'node', offlineFirst: tool.name === 'wake_node' };
  const field = isJsonObject(schema) ? schema : {};
  const prompt = typeof field.description === 'string' ? field.description : name;
  if (Array.isArray(field.enum)) return { kind: 'choice', name, prompt, values: field.enum.map(String), required };
  const pattern = typeof field.pattern === 'string' ? { pattern: field.pattern } : {};
  return { kind: 'text', name, prompt, required, ...pattern };
}

function guestStep(tool: string): ArgumentStep {
  const [, verb, kind] = /^(start|stop|restart)_(vm|container)$/.exec(tool) ?? [];
  return {
    kind: 'guest',
    ...(kind === undefined ? {} : { guestType: kind === 'vm' ? ('qemu' as const) : ('lxc' as const) }),
    ...(verb === undefined ? {} : { running: verb !== 'start' }),
  };
}
