/** A tool in few words, for whoever puts all of the list before a model with every request (docs/adr/0033-short-list.md). */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
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

// The tool that holds those which a surface does not offer by themselves: a description of one, or a call of it (docs/adr/0024, 0033).

/** Its name; no tool of the catalog has it. */
export const moreTools = 'more_tools';

/** What it holds. */
export interface Drawer {
  readonly inside: readonly ToolDescription[];
  /** Offered by themselves, with less than all that is said of them: described here, too, and not run. */
  readonly offered?: readonly ToolDescription[];
}

/** As a tool among the others. */
export function drawerTool({ inside, offered }: Drawer): Pick<ToolDescription, 'name' | 'title' | 'description' | 'group' | 'inputSchema'> {
  const names = inside.map((tool) => tool.name);
  const others = offered === undefined ? '' : ' (of any other tool, too, more than the list)';
  return {
    name: moreTools,
    title: 'More tools',
    description: `Tools that are needed less often: ${names.join(', ')}. With \`tool\` alone it tells what that tool does and takes${others}; with \`arguments\` it runs it, and a person is asked where that tool asks.`,
    group: 'cluster',
    inputSchema: {
      type: 'object',
      properties: {
        tool: { type: 'string', ...(offered === undefined ? { enum: names } : {}), description: 'Which tool.' },
        arguments: { type: 'object', description: 'Leave out to learn what it takes.' },
      },
      required: ['tool'],
    },
  };
}

type FromDrawer = { readonly run: ToolDescription; readonly input: unknown } | { readonly outcome: Outcome };

/** SECURITY: it runs only what is inside; any other tool has a name of its own, and its own place in people's settings. */
export function fromDrawer(input: unknown, { inside, offered = [] }: Drawer): FromDrawer {
  if (!isJsonObject(input)) return wrong('its input must be an object');
  const { tool: name, arguments: given, ...rest } = input;
  const [stranger] = Object.keys(rest);
  if (stranger !== undefined) return wrong(`unknown argument \`${stranger.slice(0, 60)}\`; it takes \`tool\` and \`arguments\``);
  const held = inside.find((tool) => tool.name === name);
  if (held !== undefined)
    return given === undefined
      ? described(held, `call ${moreTools} again with \`tool\` \`${held.name}\` and its \`arguments\``)
      : { run: held, input: given };
  const other = offered.find((tool) => tool.name === name);
  if (other === undefined) return wrong(`\`tool\` must be one of: ${inside.map((tool) => tool.name).join(', ')}`);
  return given === undefined
    ? described(other, `call ${other.name} itself`)
    : wrong(`${other.name} is a tool of its own: call it by its name`);
}

function described({ name, description, inputSchema }: ToolDescription, next: string): FromDrawer {
  const result = inputSchema as unknown as JsonValue;
  return { outcome: { status: 'ok', code: 'ok', message: `${name}: ${description}`, next, result } };
}

function wrong(why: string): FromDrawer {
  return { outcome: { status: 'error', code: 'invalid_input', message: `${moreTools}: ${why}` } };
}
