/** The catalog: every tool once. Surfaces, manifests and documents are derived from here. */
import * as z from 'zod';
import type { Tool, ToolDescription } from '#kernel/tool';
import { clusterTools, internalTools, operationTools, planTools, securityTools, workspaceTools } from '#tools/index';

/** In the order that people read them in. Handlers are reached through the pipeline only; hosts get `describeTools`. */
export const catalog: readonly Tool[] = [...clusterTools, ...operationTools, ...planTools, ...workspaceTools, ...securityTools];

/** With those that no caller can name. */
export const allTools: readonly Tool[] = [...catalog, ...internalTools];

/** Name, description, tier and schema of every tool: what a surface may know. */
export function describeTools(): readonly ToolDescription[] {
  return catalog.map(describe);
}

function describe(tool: Tool): ToolDescription {
  const { name, title, description, group, tier, impact, permission, rare } = tool;
  let schema: ToolDescription['inputSchema'] | undefined;
  return {
    ...{ name, title, description, group, tier, impact, permission },
    ...(rare === undefined ? {} : { rare }),
    // Those of all tools take as long as a call: who makes one call looks at none.
    get inputSchema() {
      schema ??= schemaOf(tool);
      return schema;
    },
  };
}

function schemaOf({ input }: Tool): ToolDescription['inputSchema'] {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, { io: 'input' });
  return schema;
}

/** The part of JSON Schema that Ollama's clients type. */
export interface OllamaParameters {
  readonly type: 'object';
  required?: string[];
  properties: Record<string, { type: string; description: string; items?: object; enum?: unknown[]; default?: unknown }>;
  readonly additionalProperties: false;
}

export interface OllamaTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: OllamaParameters };
}

export function ollamaTool({ name, description, inputSchema }: ToolDescription): OllamaTool {
  // Sound: the catalog's test holds every input to a strict object whose properties have one type and a description each.
  return { type: 'function', function: { name, description, parameters: inputSchema as unknown as OllamaParameters } };
}

/** A tool's behaviour in the words of MCP (`ToolAnnotations`, specification 2025-11-25 and later). */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly openWorldHint: boolean;
}

/** Derived from the tier and the impact, so that they cannot contradict them. Hints for clients' dialogs; nothing here depends on them. */
export function toolAnnotations({ tier, impact }: Pick<ToolDescription, 'tier' | 'impact'>): ToolAnnotations {
  return { readOnlyHint: tier === 'green', destructiveHint: impact === 'disruptive' || impact === 'irreversible', openWorldHint: false };
}
