/** A tool in few words, for whoever puts all of the list before a model with every request (docs/adr/0033-short-list.md). */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { ToolDescription } from '#kernel/tool';

/** What one chooses a tool by. */
export interface ShortTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/**
 * Makes the short form of any of `tools`.
 * @param clusters how many are configured: with one, no tool needs to be told which
 */
export function shortener(tools: readonly ToolDescription[], clusters: number): (tool: ToolDescription) => ShortTool {
  const without: Needless = { texts: commonTexts(tools), cluster: clusters <= 1 };
  const names = tools.map((tool) => tool.name);
  return (tool) => ({ name: tool.name, description: briefly(tool, names), inputSchema: lean(tool.inputSchema, without) });
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
