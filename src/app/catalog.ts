/** The catalog: every tool once. Surfaces, manifests and documents are derived from here. */
import * as z from 'zod';
import type { Tool, ToolDescription } from '#kernel/tool';
import { clusterTools } from '#tools/cluster/index';
import { securityTools } from '#tools/security/index';
import { workspaceTools } from '#tools/workspace/index';

/** In the order that people read them in. Handlers are reached through the pipeline only; hosts get `describeTools`. */
export const catalog: readonly Tool[] = [...clusterTools, ...workspaceTools, ...securityTools];

/** Name, description, tier and schema of every tool: what a surface may know. */
export function describeTools(): readonly ToolDescription[] {
  return catalog.map(describe);
}

/** One tool's description, or null for a name that is no tool's. */
export function describeTool(name: string): ToolDescription | null {
  const tool = catalog.find((entry) => entry.name === name);
  return tool === undefined ? null : describe(tool);
}

function describe(tool: Tool): ToolDescription {
  const { name, title, description, group, tier, impact, permission, timeoutMs } = tool;
  const { $schema: _dialect, ...inputSchema } = z.toJSONSchema(tool.input, { io: 'input' });
  return { name, title, description, group, tier, impact, permission, timeoutMs, inputSchema };
}
