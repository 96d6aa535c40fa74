/** What a client can read besides the tools: one page and one prompt, both derived from the catalog. Neither touches the cluster. */
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server } from '@modelcontextprotocol/server';
import type { ToolDescription } from '#kernel/tool';
import { instructions } from './instructions.ts';

const guide = {
  uri: 'banksman://guide',
  name: 'guide',
  title: 'Working with Banksman',
  description: 'How calls are decided, and what each tool needs.',
  mimeType: 'text/markdown',
} as const;

const healthPrompt = {
  name: 'cluster_health',
  title: 'Cluster health',
  description: 'Look at the whole cluster with tools that only read, and report what needs a person.',
} as const;

const healthRequest =
  'Look at the Proxmox VE cluster with tools that only read: get_cluster_status, get_node_status of every node, get_vms, get_containers, ' +
  'get_storage, get_recent_tasks. Report what is down, full, failed or unusual, worst first, with numbers. Change nothing.';

/** Everything is static, so a client may keep it as long as the list of tools. */
export function serveGuide(server: Server, tools: readonly ToolDescription[]): void {
  server.setRequestHandler('resources/list', () => ({ resources: [guide] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params }) => {
    if (params.uri !== guide.uri) throw new ResourceNotFoundError(params.uri);
    return { contents: [{ uri: guide.uri, mimeType: guide.mimeType, text: guideText(tools) }] };
  });
  server.setRequestHandler('prompts/list', () => ({ prompts: [healthPrompt] }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    if (params.name !== healthPrompt.name) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'no prompt has that name');
    return { description: healthPrompt.description, messages: [{ role: 'user', content: { type: 'text', text: healthRequest } }] };
  });
}

const meaning: Readonly<Record<ToolDescription['tier'], string>> = {
  green: 'runs',
  yellow: 'runs and is written down first; may ask a person',
  red: 'asks a person each time',
  black: 'never runs',
};

export function guideText(tools: readonly ToolDescription[]): string {
  const rows = tools.map(({ name, tier, title }) => `| ${name} | ${tier} | ${title} |`);
  const tiers = Object.entries(meaning).map(([tier, what]) => `- ${tier}: ${what}`);
  return [
    '# Working with Banksman',
    '',
    instructions,
    '',
    '## Tiers',
    '',
    ...tiers,
    '',
    '## Tools',
    '',
    '| tool | tier | what |',
    '| --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
