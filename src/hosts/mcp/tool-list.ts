/**
 * The list of tools that a client gets. Most clients put all of it before the model with every request, so by default it is short: what a day's
 * work takes, each with what one chooses by, and one tool for the rest and for whatever else is to be said (docs/adr/0033-short-list.md).
 */
import type { Tool } from '@modelcontextprotocol/server';
import { toolAnnotations } from '#app/catalog';
import { type Drawer, drawerTool } from '#app/drawer';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
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
  const without: Needless = { texts: commonTexts(tools), cluster: clusters <= 1 };
  const names = tools.map((tool) => tool.name);
  return [
    ...drawer.offered.map((tool) => shortEntry(tool, names, without)),
    { name, description, inputSchema: asObjectSchema(inputSchema) },
  ];
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

function shortEntry(tool: ToolDescription, names: readonly string[], without: Needless): Tool {
  return {
    name: tool.name,
    description: briefly(tool, names),
    inputSchema: asObjectSchema(lean(tool.inputSchema, without)),
    ...hints(tool),
  };
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

/** What it is, and each sentence that says which other tool is meant instead or comes next. */
export function briefly({ name, description, tier }: ToolDescription, names: readonly string[]): string {
  const [first = '', ...more] = sentences(description);
  const others = names.filter((other) => other !== name);
  const said = more.filter((sentence) => others.some((other) => new RegExp(`\\b${other}\\b`).test(sentence)));
  return [first, ...said, ...(tier === 'red' ? ['Asks a person.'] : [])].join(' ');
}

function sentences(text: string): string[] {
  return text.split(/(?<=\.) (?=[A-Z`])/);
}

/** Checked when the tool is called, and answered with what is allowed. An unknown argument is refused then, too. */
const checkedLater: ReadonlySet<string> = new Set([
  ...['additionalProperties', 'maxItems', 'maxLength', 'maximum', 'minItems', 'minLength', 'minimum', 'pattern', 'propertyNames'],
]);

/** What a short schema does without. Left out is not refused: every argument of the catalog is taken. */
interface Needless {
  readonly texts: ReadonlySet<string>;
  readonly cluster: boolean;
}

/** A guest's number is the cluster's: which node it is on is looked up. */
function isNeedless(argument: string, required: JsonValue | undefined, { cluster }: Needless): boolean {
  return argument === 'cluster' ? cluster : argument === 'node' && Array.isArray(required) && required.includes('vmid');
}

function lean(schema: ToolDescription['inputSchema'], without: Needless): JsonObject {
  const whole = schema as JsonObject;
  const kept = Object.entries(whole).filter(([key]) => !checkedLater.has(key));
  return Object.fromEntries(
    kept.flatMap(([key, value]): (readonly [string, JsonValue])[] => {
      if (value === undefined) return [];
      if (key === 'properties' && isJsonObject(value)) return [[key, leanProperties(value, whole['required'], without)]];
      if (key === 'items' && isJsonObject(value)) return [[key, lean(value, without)]];
      if (key !== 'description' || typeof value !== 'string') return [[key, value]];
      return without.texts.has(value) ? [] : [[key, sentences(value)[0] ?? value]];
    }),
  );
}

function leanProperties(properties: JsonObject, required: JsonValue | undefined, without: Needless): JsonObject {
  const needed = Object.entries(properties).filter(([name]) => !isNeedless(name, required, without));
  return Object.fromEntries(needed.map(([name, property]) => [name, isJsonObject(property) ? lean(property, without) : property]));
}

/** So many tools explain an argument in the same words: `cluster`, `node`, `vmid`, `reason`, `limit`, `cursor`, `filter`. Their names say it. */
const commonFrom = 8;

function commonTexts(tools: readonly ToolDescription[]): ReadonlySet<string> {
  const seen = new Map<string, number>();
  for (const { inputSchema } of tools) {
    const { properties } = inputSchema as JsonObject;
    for (const property of isJsonObject(properties) ? Object.values(properties) : []) {
      if (isJsonObject(property) && typeof property.description === 'string')
        seen.set(property.description, (seen.get(property.description) ?? 0) + 1);
    }
  }
  return new Set([...seen].filter(([, count]) => count >= commonFrom).map(([text]) => text));
}
