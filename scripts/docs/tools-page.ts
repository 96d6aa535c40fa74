/** The page about the tools, from their descriptions. */
import { toolGroups } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';

const tierMeaning = {
  green: 'runs',
  yellow: 'runs, written down first; asks where the look at the call says so, and always under `strict`',
  red: 'a person answers each call',
  black: 'never runs',
} as const;

/** Markdown with one table of all tools and one section a tool, in catalog order. */
export function toolsPage(tools: readonly ToolDescription[]): string {
  const groups = toolGroups.map((group) => tools.filter((tool) => tool.group === group)).filter((members) => members.length > 0);
  return [
    '<!-- Generated from the tool catalog by `npm run generate`. Do not edit. -->',
    '# Tools',
    `${tools.length} tools. In the editor each is called \`banksman_\` + its name; over MCP and on the command line it has the name shown here.`,
    table(
      ['action tier', 'meaning'],
      Object.entries(tierMeaning).map(([tier, meaning]) => [tier, meaning]),
    ),
    table(
      ['tool', 'group', 'action tier', 'impact', 'permission'],
      tools.map((tool) => [`[\`${tool.name}\`](#${tool.name})`, tool.group, tool.tier, tool.impact, `\`${tool.permission}\``]),
    ),
    ...groups.flatMap((members) => [`## ${capitalized(members[0]?.group ?? '')}`, ...members.map(section)]),
  ]
    .join('\n\n')
    .concat('\n');
}

function section(tool: ToolDescription): string {
  const facts = `**${tool.title}.** Tier ${tool.tier}, impact ${tool.impact}, needs \`${tool.permission}\`.`;
  return [`### ${tool.name}`, facts, tool.description, argumentsTable(tool)].join('\n\n');
}

function argumentsTable(tool: ToolDescription): string {
  const { properties, required } = tool.inputSchema;
  const rows = Object.entries(fieldsOf(properties)).map(([name, schema]) => {
    const fields = fieldsOf(schema);
    const needed = Array.isArray(required) && required.includes(name) ? 'yes' : '';
    return [`\`${name}\``, shape(fields), needed, typeof fields['description'] === 'string' ? fields['description'] : ''];
  });
  return rows.length > 0 ? table(['argument', 'type', 'required', 'what'], rows) : 'No arguments.';
}

/** A property's type with its limits, in words: `integer, 1 to 500, default 20`. */
function shape(schema: Fields): string {
  const { type, minimum, maximum, default: fallback } = schema;
  const choices = schema['enum'];
  const words = [
    Array.isArray(choices) ? choices.map((choice) => `\`${String(choice)}\``).join(' or ') : typeof type === 'string' ? type : 'any',
    ...(isSmall(minimum) && isSmall(maximum) ? [`${minimum} to ${maximum}`] : []),
    ...(fallback === undefined ? [] : [`default \`${JSON.stringify(fallback)}\``]),
  ];
  return words.join(', ');
}

/** Zod writes the safe integers as limits of every integer; they say nothing. */
function isSmall(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
