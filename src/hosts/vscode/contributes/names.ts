/** Under which names the editor knows a tool, and which of them a person can run from the palette. */
import type { ToolDescription } from '#kernel/tool';

export function paletteCommand(tool: string): string {
  return `banksman.run.${tool}`;
}

/** Cluster tools; a forbidden one would only ever be refused. */
export function isPaletteTool(tool: Pick<ToolDescription, 'group' | 'tier'>): boolean {
  return tool.group === 'cluster' && tool.tier !== 'black';
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
