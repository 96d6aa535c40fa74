/** `contributes.languageModelTools`, from the catalog. */
import { drawerTool } from '#app/short-list';
import type { ActionTier, ToolGroup } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';
import { languageModelName } from './names.ts';

const icons: Record<ToolGroup, string> = { cluster: '$(server-environment)', workspace: '$(files)', security: '$(shield)' };

const tierWords: Record<ActionTier, string> = {
  green: 'Reads only.',
  yellow: 'Checked against your policy and logged; asks you in a dialog where the policy says so.',
  red: 'Asks you in a dialog each time.',
  black: 'Always refused, and recorded.',
};

/** Copilot puts tools beyond 64 into groups of its own, with those of everybody else (docs/adr/0024-tools-in-the-editor.md). */
export const mostTools = 48;

/**
 * Those that are offered by themselves, and one for the rest.
 * @throws {Error} where they are more than `mostTools`
 */
export function languageModelToolContributions(tools: readonly ToolDescription[]) {
  const rare = tools.filter((tool) => tool.rare === true);
  const offered = tools.filter((tool) => tool.rare !== true).map((tool) => contribution(tool, tierWords[tool.tier]));
  const all =
    rare.length === 0
      ? offered
      : [...offered, contribution(drawerTool({ inside: rare }), 'Each of these asks you, or not, as its own tier says.')];
  if (all.length > mostTools)
    throw new Error(`${all.length} tools are offered in the editor, at most ${mostTools} may be: mark some as \`rare\``);
  return all;
}

function contribution(tool: Pick<ToolDescription, 'name' | 'title' | 'description' | 'group' | 'inputSchema'>, userDescription: string) {
  return {
    name: languageModelName(tool.name),
    // Equal, since some hosts show models this one.
    toolReferenceName: languageModelName(tool.name),
    canBeReferencedInPrompt: true,
    displayName: `Banksman: ${tool.title}`,
    userDescription,
    modelDescription: tool.description,
    inputSchema: toolSchema(tool.name, tool.inputSchema),
    icon: icons[tool.group],
  };
}

type Schema = { readonly [key: string]: unknown };

/** Copilot's normalizer removes these at the root, and with them what they mean. */
const lostAtRoot = ['oneOf', 'anyOf', 'allOf', 'not', 'if', '$ref'];

/** Checked when the tool is called, and answered with what is allowed: in the manifest they would only take room. */
const checkedLater: ReadonlySet<string> = new Set([
  ...['minLength', 'maxLength', 'pattern', 'format', 'additionalProperties', 'propertyNames', 'minItems', 'maxItems', 'minimum', 'maximum'],
]);

function forModels(schema: Schema): Schema {
  const kept = Object.entries(schema).filter(([key]) => !checkedLater.has(key));
  return Object.fromEntries(
    kept.map(([key, value]) => [key, key === 'items' ? forModels(asSchema(value)) : key === 'properties' ? each(value) : value]),
  );
}

function each(properties: unknown): Schema {
  return Object.fromEntries(Object.entries(asSchema(properties)).map(([name, property]) => [name, forModels(asSchema(property))]));
}

/**
 * Only the keys that mean something to a model.
 * @throws {Error} on what the chat would drop or reject: a root that is no object, an array without `items`, a required key that is not there
 */
export function toolSchema(tool: string, schema: Schema): Schema {
  if (schema.type !== 'object') throw new Error(`${tool}: the input must be an object`);
  const lost = lostAtRoot.find((key) => key in schema);
  if (lost !== undefined) throw new Error(`${tool}: \`${lost}\` at the root of the input is dropped by the chat`);
  const properties = asSchema(schema.properties ?? {});
  for (const [name, property] of Object.entries(properties)) checkProperty(`${tool}.${name}`, asSchema(property));
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.find((name) => !(String(name) in properties));
  if (missing !== undefined) throw new Error(`${tool}: \`${missing}\` is required but not declared`);
  return { type: 'object', properties: each(properties), ...(required.length === 0 ? {} : { required }), additionalProperties: false };
}

function checkProperty(path: string, property: Schema): void {
  if (typeof property.description !== 'string') throw new Error(`${path}: a model needs a description`);
  if (!('type' in property) && !('enum' in property)) throw new Error(`${path}: has no type`);
  if (property.type === 'array' && !('items' in property)) throw new Error(`${path}: an array needs \`items\``);
}

function asSchema(value: unknown): Schema {
  if (typeof value !== 'object' || value === null) throw new Error('not a schema');
  return value as Schema;
}
