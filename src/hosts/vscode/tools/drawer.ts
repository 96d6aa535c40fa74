/** What a model asks of the tool that holds the rare ones: a description, or a call of one of them. */
import { isJsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import type { ToolDescription } from '#kernel/tool';
import { moreTools } from '../contributes/language-model-tools.ts';

type FromDrawer = { readonly run: ToolDescription; readonly input: unknown } | { readonly outcome: Outcome };

/** SECURITY: only the tools that it is given; any other has a name of its own, and its own place in people's settings. */
export function fromDrawer(input: unknown, rare: readonly ToolDescription[]): FromDrawer {
  if (!isJsonObject(input)) return wrong('its input must be an object');
  const { tool: name, arguments: given, ...rest } = input;
  const [stranger] = Object.keys(rest);
  if (stranger !== undefined) return wrong(`unknown argument \`${stranger.slice(0, 60)}\`; it takes \`tool\` and \`arguments\``);
  const tool = rare.find((entry) => entry.name === name);
  if (tool === undefined) return wrong(`\`tool\` must be one of: ${rare.map((entry) => entry.name).join(', ')}`);
  return given === undefined ? { outcome: described(tool) } : { run: tool, input: given };
}

function described({ name, description, inputSchema }: ToolDescription): Outcome {
  return {
    status: 'ok',
    code: 'ok',
    message: `${name}: ${description}`,
    next: `call ${moreTools} again with \`tool\` \`${name}\` and its \`arguments\``,
    result: inputSchema as unknown as JsonValue,
  };
}

function wrong(why: string): FromDrawer {
  return { outcome: { status: 'error', code: 'invalid_input', message: `${moreTools}: ${why}` } };
}
