/** docs/hooks.md: the table of agents, from their records. */
import { type HookAgent, hookAgents } from '#hosts/hook/agents';
import { installations } from '#hosts/hook/installations';
import type { Finding } from '../../test/agents/cases.ts';
import type { AgentResults } from '../../test/agents/results.ts';

const begin = '<!-- agents:begin -->';
const end = '<!-- agents:end -->';
const kinds = ['shell', 'edits', 'reads', 'fetches', 'mcp'] as const satisfies readonly (keyof HookAgent['covers'])[];

export function withAgents(page: string, results: AgentResults): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/hooks.md has no \`${begin}\` with its end`);
  return `${before}${begin}\n${table(results)}\n${end}${after}`;
}

function table(results: AgentResults): string {
  const head = [
    'agent',
    '`banksman hook …`',
    'tried with the agent itself',
    ...kinds,
    'managed',
    'a repository switches a user’s off',
    'when it fails',
    'answers within',
  ];
  const rows = hookAgents.map((agent) => {
    const hook = results[agent.name]?.hook;
    return [
      hook === undefined ? agent.title : `${agent.title} ${hook.version}`,
      `\`${agent.name}\``,
      hook === undefined ? 'no' : 'yes',
      ...kinds.map((kind) => (hook?.kinds[kind]?.ok === true ? 'tried' : agent.covers[kind])),
      managed(agent.name, hook?.managed),
      switchedOff(hook?.switchedOff),
      whenBroken(hook?.broken),
      `${agent.deadlineMs / 1_000} s`,
    ];
  });
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const notes = hookAgents.map(({ title, notes: text }) => `- **${title}.** ${text}`);
  return [...lines, '', ...notes].join('\n');
}

function managed(name: string, found: Finding | undefined): string {
  if (installations[name]?.files.managed === undefined) return 'no';
  return found?.ok === true ? 'tried' : 'documented';
}

function switchedOff(found: Finding | undefined): string {
  if (found?.ok !== true) return 'not tried';
  return found.note === undefined ? 'yes, tried' : 'no, tried';
}

function whenBroken(found: Finding | undefined): string {
  if (found?.ok !== true) return 'not tried';
  return found.note ?? 'it refuses';
}
