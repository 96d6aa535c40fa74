/** `banksman tools`: the catalog on stdout. */
import { describeTools, ollamaTool, toolAnnotations } from '#app/catalog';
import { toolGroups } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { resultForPeople, screenOf } from '../result-screen.ts';

const formats: Readonly<Record<string, (tool: ToolDescription) => unknown>> = {
  json: ({ name, title, description, group, tier, impact, permission, inputSchema }) => ({
    name,
    title,
    description,
    group,
    tier,
    impact,
    permission,
    schema: inputSchema,
  }),
  mcp: (tool) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.inputSchema,
    annotations: toolAnnotations(tool),
  }),
  ollama: ollamaTool,
};

export function runTools(words: readonly string[], options: CommandOptions): number {
  operands(words, []);
  const format = formats[options.format ?? 'json'];
  if (format === undefined || !Object.hasOwn(formats, options.format ?? 'json'))
    throw badUsage(`\`--format\` must be one of ${Object.keys(formats).join(', ')}`);
  const { group } = options;
  if (group !== undefined && !toolGroups.some((known) => known === group))
    throw badUsage(`\`--group\` must be one of ${toolGroups.join(', ')}`);
  const tools = describeTools().filter((tool) => group === undefined || tool.group === group);
  if (process.stdout.isTTY && options.format === undefined && options.json !== true) {
    const rows = tools.map(({ name, tier, title }) => ({ name, tier, title }));
    printText(resultForPeople(rows, screenOf(process.stdout)).join('\n'));
  } else printJson(tools.map(format));
  return 0;
}
