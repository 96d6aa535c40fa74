/** docs/mcp.md: what real agents do with the server, from what was found (`npm run test:agents`). */
import { testedAgents } from '../../test/agents/agents.ts';
import { agentCases, type Finding } from '../../test/agents/cases.ts';
import type { AgentResults } from '../../test/agents/results.ts';

const begin = '<!-- clients:begin -->';
const end = '<!-- clients:end -->';

export function withClients(page: string, results: AgentResults): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/mcp.md has no \`${begin}\` with its end`);
  return `${before}${begin}\n${table(results)}\n${end}${after}`;
}

function table(results: AgentResults): string {
  const head = ['agent', 'tried', ...agentCases.map(({ title }) => title)];
  const rows = testedAgents.flatMap(({ name, title }) => {
    const client = results[name]?.client;
    if (client === undefined) return [];
    return [[`${title} ${client.version}`, client.date, ...agentCases.map(({ id }) => cellOf(client.cases[id]))]];
  });
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** What it does instead is for the log. */
function cellOf(found: Finding | undefined): string {
  if (found === undefined) return 'not tried';
  return found.ok ? (found.note ?? 'yes') : 'no';
}
