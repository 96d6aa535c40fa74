/** The catalog as MCP lists it. */
import type { Tool } from '@modelcontextprotocol/server';
import { toolAnnotations } from '#app/tool-annotations';
import type { ToolDescription } from '#kernel/tool';
import { outcomeSchema } from './outcome-schema.ts';

/** Always the whole catalog in its own order: what a model tier may use is decided at the call, where a refusal can say why. */
export function toolList(tools: readonly ToolDescription[]): Tool[] {
  return tools.map(toolEntry);
}

function toolEntry(tool: ToolDescription): Tool {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    // A tool's input is a strict object by construction (`ToolDefinition`).
    inputSchema: { ...tool.inputSchema, type: 'object' },
    outputSchema: outcomeSchema,
    annotations: { title: tool.title, ...toolAnnotations(tool) },
  };
}
