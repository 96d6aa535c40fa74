/**
 * The list of tools that a client gets. Most clients put all of it before the model with every request, so by default it is short: what a day's
 * work takes, each with what one chooses by, and one tool for the rest and for whatever else is to be said (docs/adr/0033-short-list.md).
 */
import type { Tool } from '@modelcontextprotocol/server';
import { toolAnnotations } from '#app/catalog';
import { type Drawer, drawerTool } from '#app/drawer';
import { type ShortTool, shortener } from '#app/short-list';
import type { ToolDescription } from '#kernel/tool';

export interface ListOptions {
  /** For clients that keep the list and show the model what it looks for. */
  readonly all: boolean;
  /** How many are configured: with one, no tool needs to be told which. */
  readonly clusters: number;
}

/** Behind `more_tools` of a short list. */
export function drawerOf(tools: readonly ToolDescription[]): Required<Drawer> {
  return { inside: tools.filter((tool) => tool.rare === true), offered: tools.filter((tool) => tool.rare !== true) };
}

/** In the catalog's own order. What a model tier may use is decided at the call, where a refusal can say why. */
export function toolList(tools: readonly ToolDescription[], { all, clusters }: ListOptions): Tool[] {
  if (all) return tools.map(wholeEntry);
  const drawer = drawerOf(tools);
  const { name, description, inputSchema } = drawerTool(drawer);
  const short = shortener(tools, clusters);
  return [...drawer.offered.map((tool) => shortEntry(tool, short(tool))), { name, description, inputSchema: asObjectSchema(inputSchema) }];
}

/** No `outputSchema`: no client hands it to a model, and it is one text for all tools. It stands in the guide. */
function wholeEntry(tool: ToolDescription): Tool {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: asObjectSchema(tool.inputSchema),
    annotations: { title: tool.title, ...toolAnnotations(tool) },
  };
}

function shortEntry(tool: ToolDescription, { name, description, inputSchema }: ShortTool): Tool {
  return { name, description, inputSchema: asObjectSchema(inputSchema), ...hints(tool) };
}

/** A tool's input is a strict object by construction (`ToolDefinition`). */
function asObjectSchema(schema: ToolDescription['inputSchema']): Tool['inputSchema'] {
  return { ...schema, type: 'object' };
}

/** Only what is not taken for granted without: that a tool may destroy, and that it may reach the open world. */
function hints(tool: ToolDescription): Pick<Tool, 'annotations'> {
  const { readOnlyHint, destructiveHint, openWorldHint } = toolAnnotations(tool);
  if (readOnlyHint) return { annotations: { readOnlyHint } };
  return destructiveHint ? {} : { annotations: { destructiveHint, openWorldHint } };
}
