/**
 * A coding agent's own tools, as its hook asks about them (`hosts/hook`). What runs here is nothing: the agent does it itself once the answer is yes.
 * LIMIT: what it then does is not seen here, and not undone.
 */

import * as z from 'zod';
import { agentToolNames } from '#kernel/agent-call';
import type { JsonObject } from '#kernel/json';
import type { Resource } from '#kernel/resource';
import { asIs, type Message, plainly, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { ActionTier, Impact, Permission } from '#kernel/tiers';
import { type Caller, defineTool, type Tool } from '#kernel/tool';

const text = (most: number, description: string) => z.string().max(most).meta({ description });

const input = z.strictObject({
  own_tool: text(200, 'The name that the agent gives its tool.').min(1),
  command: text(1_000_000, 'The command line, as it is.').optional(),
  cwd: text(4_096, 'The directory that the agent works in.').optional(),
  paths: z.array(text(4_096, 'Absolute.')).max(500).optional().meta({ description: 'What it opens.' }),
  urls: z.array(text(10_000, 'As it is.')).max(50).optional().meta({ description: 'What it fetches.' }),
  arguments: z.record(z.string(), z.json()).optional().meta({ description: 'All else that the agent hands to its tool.' }),
});
type Asked = z.output<typeof input>;

interface Kind {
  readonly title: string;
  readonly tier: ActionTier;
  readonly impact: Impact;
  readonly permission: Permission;
  touches(asked: Asked, caller?: Caller): readonly Resource[];
  headline(asked: Asked): Message;
}

const command = ({ command: line = '' }: Asked, surface: 'agent_shell' | 'agent_run'): readonly Resource[] => [
  { kind: 'command', access: 'operate', surface, text: line },
];
const paths = ({ paths: named = [] }: Asked, use: 'write' | 'search'): readonly Resource[] =>
  named.map((path) => ({ kind: 'path', access: use === 'write' ? 'operate' : 'read', path, use, machine: true }));
/** What is no URL is none of a destination's names either, and is refused as such. */
const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host || url : url);
const several = ([first, ...others]: readonly string[] = []) => {
  if (first === undefined) return say`nothing`;
  return others.length === 0 ? asIs(first) : say`${first} and ${others.length} more`;
};

const kinds: Readonly<Record<keyof typeof agentToolNames, Kind>> = {
  shell: {
    title: 'An agent’s own shell',
    tier: 'yellow',
    impact: 'irreversible',
    // SECURITY: nothing holds it to looking, so whose model may only look gets `banksman run`, which does.
    permission: 'data:read',
    touches: (asked, caller) => command(asked, caller?.holds('system:execute') ? 'agent_shell' : 'agent_run'),
    headline: ({ own_tool: tool, command: line = '' }) =>
      say`${tool}: run ${JSON.stringify(line)} in the agent's own shell, outside the sandbox`,
  },
  // What runs there is a call of its own.
  run: {
    title: 'A command through `banksman run`',
    tier: 'green',
    impact: 'none',
    permission: 'data:read',
    touches: (asked) => command(asked, 'agent_run'),
    headline: ({ own_tool: tool, command: line = '' }) => say`${tool}: run ${JSON.stringify(line)}`,
  },
  write: {
    title: 'An agent’s own edit',
    tier: 'yellow',
    impact: 'irreversible',
    permission: 'file:write',
    touches: (asked) => paths(asked, 'write'),
    headline: ({ own_tool: tool, paths: named }) => say`${tool}: write ${several(named)}`,
  },
  read: {
    title: 'An agent’s own look at a file',
    tier: 'green',
    impact: 'none',
    permission: 'file:read',
    touches: (asked) => paths(asked, 'search'),
    headline: ({ own_tool: tool, paths: named }) => say`${tool}: read ${several(named)}`,
  },
  fetch: {
    title: 'An agent’s own fetch',
    tier: 'yellow',
    impact: 'reversible',
    permission: 'system:execute:readonly',
    touches: ({ urls = [] }) => urls.map((url) => ({ kind: 'destination', access: 'operate', host: hostOf(url) })),
    headline: ({ own_tool: tool, urls }) => say`${tool}: fetch ${several(urls)}`,
  },
  // What it then runs nobody here sees, so that a person is asked each time.
  start: {
    title: 'A tool that makes an agent’s editor run something',
    tier: 'red',
    impact: 'irreversible',
    permission: 'system:execute',
    touches: () => [],
    headline: ({ own_tool: tool }) => say`${tool}: let the agent's editor run what it names, outside the sandbox`,
  },
  // No name is proof: a repository can have a server of any name.
  other: {
    title: 'A tool of an agent’s other servers',
    tier: 'yellow',
    impact: 'reversible',
    permission: 'system:execute:readonly',
    touches: () => [],
    headline: ({ own_tool: tool }) => say`${tool}: call it`,
  },
  quiet: {
    title: 'A tool that only concerns the agent itself',
    tier: 'green',
    impact: 'none',
    permission: 'data:read',
    touches: () => [],
    headline: ({ own_tool: tool }) => say`${tool}: call it`,
  },
};

function agentTool(kind: keyof typeof kinds): Tool {
  const { headline, touches, ...more } = kinds[kind];
  return defineTool({
    ...more,
    name: agentToolNames[kind],
    description: 'Judges a call of a coding agent’s own tool; the agent runs it itself.',
    group: 'workspace',
    internal: 'hook',
    input,
    touches,
    headline: (asked) => plainly(headline(asked), 500),
    preview: async (asked) => previewOf(asked),
    run: async () => ({ ok: true, message: 'the agent may do this itself', result: {} }),
  });
}

/** What a person is not told by the headline. */
async function previewOf({ cwd, paths: named = [], urls = [], arguments: more = {} }: Asked): Promise<readonly Message[]> {
  return [
    say`The agent does it itself: outside the sandbox, and it cannot be undone here.`,
    ...(cwd === undefined ? [] : [say`The agent is in ${showPlainly(cwd, 300)}.`]),
    ...[...named, ...urls].slice(1, 20).map((name) => say`Also: ${showPlainly(name, 300)}`),
    ...lines(more),
  ];
}

function lines(more: JsonObject): readonly Message[] {
  return Object.entries(more)
    .slice(0, 20)
    .map(([key, value]) => say`${showPlainly(key, 60)}: ${showPlainly(typeof value === 'string' ? value : JSON.stringify(value), 1_500)}`);
}

export const agentTools: readonly Tool[] = (Object.keys(kinds) as (keyof typeof kinds)[]).map(agentTool);
