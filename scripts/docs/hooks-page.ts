/** docs/hooks.md: the table of agents, from their records. */
import { type HookAgent, hookAgents } from '#hosts/hook/agents';

const begin = '<!-- agents:begin -->';
const end = '<!-- agents:end -->';
const kinds = ['shell', 'edits', 'reads', 'fetches', 'mcp'] as const satisfies readonly (keyof HookAgent['covers'])[];

export function withAgents(page: string): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/hooks.md has no \`${begin}\` with its end`);
  return `${before}${begin}\n${table()}\n${end}${after}`;
}

function table(): string {
  const head = ['agent', '`banksman hook …`', ...kinds, 'answers within'];
  const rows = hookAgents.map(({ title, name, covers, deadlineMs }) => [
    title,
    `\`${name}\``,
    ...kinds.map((kind) => covers[kind]),
    `${deadlineMs / 1_000} s`,
  ]);
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const notes = hookAgents.map(({ title, notes: text }) => `- **${title}.** ${text}`);
  return [...lines, '', ...notes].join('\n');
}
