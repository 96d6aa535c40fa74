/** `contributes.languageModelTools`, from the catalog. */
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

export function languageModelToolContributions(tools: readonly ToolDescription[]) {
  return tools.map((tool) => ({
    name: languageModelName(tool.name),
    // Equal, since some hosts show models this one.
    toolReferenceName: languageModelName(tool.name),
    canBeReferencedInPrompt: true,
    displayName: `Banksman: ${tool.title}`,
    userDescription: tierWords[tool.tier],
    modelDescription: tool.description,
    inputSchema: toolSchema(tool.name, tool.inputSchema),
    icon: icons[tool.group],
    tags: ['banksman', tool.group, tool.tier],
  }));
}

type Schema = { readonly [key: string]: unknown };

/** Copilot's normalizer removes these at the root, and with them what they mean. */
const lostAtRoot = ['oneOf', 'anyOf', 'allOf', 'not', 'if', '$ref'];

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
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }), additionalProperties: false };
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
