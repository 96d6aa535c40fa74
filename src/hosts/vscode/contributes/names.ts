/** Under which names the editor knows a tool, and which of them a person can run from the palette. */
import type { ToolDescription } from '#kernel/tool';

export function paletteCommand(tool: string): string {
  return `banksman.run.${tool}`;
}

/** What the palette has questions for. Everything else is in a list, or needs more words than a person would type there. */
const asked: ReadonlySet<string> = new Set(['vmid', 'node', 'command', 'service', 'storage', 'timeout', 'on_timeout']);
const unasked: ReadonlySet<string> = new Set(['cluster', 'reason', 'limit', 'cursor', 'filter', 'type', 'storage']);

/** Cluster tools whose arguments the palette can ask for; a forbidden one would only ever be refused. */
export function isPaletteTool(tool: Pick<ToolDescription, 'group' | 'tier' | 'rare' | 'inputSchema'>): boolean {
  const { properties } = tool.inputSchema;
  const names = Object.keys(typeof properties === 'object' && properties !== null ? properties : {});
  return (
    tool.group === 'cluster' &&
    tool.tier !== 'black' &&
    tool.rare === undefined &&
    names.every((name) => asked.has(name) || unasked.has(name))
  );
}

/** `Stop VM…`: dots where a question follows. */
export function paletteTitle(tool: Pick<ToolDescription, 'title' | 'inputSchema'>): string {
  const required = tool.inputSchema.required;
  return Array.isArray(required) && required.length > 0 ? `${tool.title}…` : tool.title;
}

/** The name of a tool on the editor's surface; prefixed, since the editor has a `read_file` of its own and resolves by first match. */
export function languageModelName(tool: string): string {
  return `banksman_${tool}`;
}

/** Of the MCP server that the editor is offered, and of what turns it on. */
export const mcpProviderId = 'banksman';
export const mcpServerSetting = 'banksman.mcpServer';
