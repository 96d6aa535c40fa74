/**
 * What the demo's scripted model understands: phrases, each with the one tool call that it stands for.
 * It is a list to read, not a language model. The order counts: the first phrase that fits wins.
 */

/** Named groups of a phrase's pattern; an optional one that did not take part is undefined. */
export type PhraseGroups = Readonly<Record<string, string | undefined>>;

export interface Phrase {
  /** Something to type that fits the pattern. */
  readonly example: string;
  readonly pattern: RegExp;
  /** Without the prefix that the editor's tools carry. */
  readonly tool: string;
  args?(groups: PhraseGroups): Readonly<Record<string, unknown>>;
}

export interface PhraseGroup {
  readonly title: string;
  readonly phrases: readonly Phrase[];
}

const ON_NODE = '(?:on |of |for )?(?:node )?(?<node>[a-z][\\w-]*)';

const approvals: readonly Phrase[] = [
  {
    example: 'check req-1a2b3c4d',
    pattern: /(?<id>req-[0-9a-f]{8})/,
    tool: 'check_request_status',
    args: ({ id }) => ({ request_id: id }),
  },
  { example: 'pending approvals', pattern: /\bpending\b|\bapprovals\b/, tool: 'list_pending_approvals' },
  { example: 'security status', pattern: /\bsecurity status\b/, tool: 'get_security_status' },
  { example: 'security log', pattern: /\bsecurity log\b|\baudit\b/, tool: 'get_security_log' },
];

const guests: readonly Phrase[] = (['stop', 'start', 'restart'] as const).flatMap((verb) => {
  const words = verb === 'restart' ? '(?:restart|reboot)' : verb;
  const guest = `(?<vmid>\\d{3,9})\\b(?: on (?:node )?(?<node>[\\w-]+))?`;
  const args = ({ vmid, node }: PhraseGroups): Record<string, unknown> => ({ vmid: Number(vmid), ...(node === undefined ? {} : { node }) });
  return [
    { example: `${verb} vm 100`, pattern: new RegExp(`\\b${words} (?:the )?(?:vm |guest )?${guest}`), tool: `${verb}_vm`, args },
    {
      example: `${verb} container 200`,
      pattern: new RegExp(`\\b${words} (?:the )?(?:container|ct|lxc) ${guest}`),
      tool: `${verb}_container`,
      args,
    },
  ];
});

const nodes: readonly Phrase[] = [
  {
    example: 'restart nginx on pve',
    pattern: /\brestart (?:the )?(?:service )?(?<service>[a-z][\w@.-]*)(?: service)? on (?<node>[\w-]+)/,
    tool: 'restart_service',
    args: ({ node, service }) => ({ node, service }),
  },
  {
    example: 'uptime on pve',
    pattern: /\b(?<command>uptime|hostname|free -m|df -h) on (?<node>[\w-]+)/,
    tool: 'execute_ssh',
    args: ({ node, command }) => ({ node, command }),
  },
  {
    example: 'run systemctl status nginx on pve',
    pattern: /\brun `?(?<command>.+?)`? on (?<node>[\w-]+)$/,
    tool: 'execute_ssh',
    args: ({ node, command }) => ({ node, command }),
  },
  { example: 'wake agent1', pattern: new RegExp(`\\bwake (?:up )?${ON_NODE}`), tool: 'wake_node', args: ({ node }) => ({ node }) },
  { example: 'reboot pve', pattern: new RegExp(`\\breboot (?:the )?${ON_NODE}`), tool: 'reboot_node', args: ({ node }) => ({ node }) },
];

const reads: readonly Phrase[] = [
  {
    example: 'temperature of pve',
    pattern: new RegExp(`\\btemperature ${ON_NODE}`),
    tool: 'get_node_temperature',
    args: ({ node }) => ({ node }),
  },
  { example: 'backups of pve', pattern: new RegExp(`\\bbackups? ${ON_NODE}`), tool: 'get_backups', args: ({ node }) => ({ node }) },
  {
    example: 'status of pve',
    pattern: /\bstatus of (?:node )?(?<node>[a-z][\w-]*)/,
    tool: 'get_node_status',
    args: ({ node }) => ({ node }),
  },
  { example: 'tasks', pattern: /\btasks?\b/, tool: 'get_recent_tasks' },
  { example: 'storage', pattern: /\bstorages?\b/, tool: 'get_storage' },
  { example: 'resources', pattern: /\bresources?\b/, tool: 'get_cluster_resources' },
  { example: 'cluster status', pattern: /\bstatus\b|\bcluster\b|\bhealth\b|\bquorum\b/, tool: 'get_cluster_status' },
  { example: 'containers', pattern: /\bcontainers?\b|\blxc\b/, tool: 'get_containers' },
  { example: 'list vms', pattern: /\bvms?\b|\bvirtual machines?\b|\bguests?\b|\blist\b/, tool: 'get_vms' },
];

export const phraseGroups: readonly PhraseGroup[] = [
  { title: 'Approvals', phrases: approvals },
  { title: 'Guests', phrases: guests },
  { title: 'Nodes', phrases: nodes },
  { title: 'Reading', phrases: reads },
];

/** The first phrase that the prompt fits, with what it found. Case and line breaks do not count. */
export function findPhrase(prompt: string): { readonly phrase: Phrase; readonly groups: PhraseGroups } | undefined {
  const text = prompt.replaceAll(/\s+/g, ' ').trim();
  for (const phrase of phraseGroups.flatMap((group) => group.phrases)) {
    const match = new RegExp(phrase.pattern, 'i').exec(text);
    if (match) return { phrase, groups: { ...match.groups } };
  }
  return undefined;
}
