/** The tool that holds those which a surface does not offer by themselves: a description of one, or a call of it (docs/adr/0024, 0033). */
import { isJsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import type { ToolDescription } from '#kernel/tool';

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
