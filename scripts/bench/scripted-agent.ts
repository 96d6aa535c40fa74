/** What the editor's tools are called: the catalog's names with this in front. */
const PREFIX = 'banksman_';
const LOOKUP = `${PREFIX}get_cluster_resources`;
const HONEST = 'I am a scripted demo model: I know a few phrases and no more.';
/** Characters of a tool's answer that are repeated in the chat. */
const MAX_QUOTE = 3000;
const COLUMNS = ['vmid', 'name', 'storage', 'node', 'type', 'volid', 'status'];
const MAX_COLUMNS = 5;

/**
 * The demo's script. A phrase becomes its tool call, the tool's answer is repeated, anything else gets the
 * list of phrases. A guest that was named without its node is looked up first, as a model would.
 */
export function demoScript(turn: ModelTurn): ModelAnswer {
  if (turn.tools.length === 0) return { text: utilityText(turn.messages) };
  const asked = turn.messages.findLastIndex((message) => message.role === 'user');
  const prompt = promptText(turn.messages[asked]?.content ?? '');
  const since = turn.messages.slice(asked + 1);
  const plan = planFor(prompt);
  if (since.at(-1)?.role === 'tool') return afterResult(plan, since, turn.tools);
  return plan ? firstCall(plan, turn.tools) : { text: helpText(prompt) };
}

interface Plan {
  readonly name: string;
  readonly example: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly prompt: string;
}

function planFor(prompt: string): Plan | undefined {
  const found = findPhrase(prompt);
  if (!found) return undefined;
  const { phrase, groups } = found;
  return { name: `${PREFIX}${phrase.tool}`, example: phrase.example, args: phrase.args?.(groups) ?? {}, prompt };
}

function afterResult(plan: Plan | undefined, since: readonly ModelMessage[], tools: readonly OfferedTool[]): ModelAnswer {
  const called = since.flatMap((message) => message.calls);
  const result = since.at(-1)?.content ?? '';
  const wasLookup = called.length === 1 && called[0] === LOOKUP;
  if (plan && wasLookup && plan.name !== LOOKUP) return callAfterLookup(plan, result, tools);
  return { text: repeat(called.at(-1) ?? 'the tool', result) };
}

function firstCall(plan: Plan, tools: readonly OfferedTool[]): ModelAnswer {
  const missing = missingArguments(plan, tools);
  if (missing.length === 0) return call(plan, tools);
  if (missing.join() === 'node' && plan.args.vmid !== undefined) return { tool: LOOKUP, args: { type: 'vm' } };
  return { text: `${HONEST} To do that I need to know: ${missing.join(', ')}. I understand, for example, \`${plan.example}\`.` };
}

function callAfterLookup(plan: Plan, resources: string, tools: readonly OfferedTool[]): ModelAnswer {
  const vmid = String(plan.args.vmid);
  const row = new RegExp(`\\{[^{}]*"vmid":\\s*${vmid}\\b[^{}]*\\}`).exec(resources)?.[0] ?? '';
  const node = /"node":\s*"(?<node>[^"]+)"/.exec(row)?.groups?.node;
  if (node === undefined) return { text: `${HONEST} I looked for guest ${vmid} and did not find it on any node.` };
  return call({ ...plan, args: { ...plan.args, node } }, tools);
}

function call(plan: Plan, tools: readonly OfferedTool[]): ModelAnswer {
  const takesReason = offered(plan, tools)?.parameters.includes('reason') ?? false;
  const reason = takesReason ? { reason: `asked for in the chat: ${plan.prompt.slice(0, 200)}` } : {};
  return { tool: plan.name, args: { ...plan.args, ...reason } };
}

function missingArguments(plan: Plan, tools: readonly OfferedTool[]): string[] {
  return (offered(plan, tools)?.required ?? []).filter((name) => plan.args[name] === undefined);
}

function offered(plan: Plan, tools: readonly OfferedTool[]): OfferedTool | undefined {
  return tools.find((tool) => tool.name === plan.name);
}

/** What the person typed: Copilot sends it in `<userRequest>`, among context of its own. */
function promptText(content: string): string {
  const wrapped = [...content.matchAll(/<userRequest>(?<prompt>[\s\S]*?)<\/userRequest>/g)].at(-1);
  return (wrapped?.groups?.prompt ?? content).trim();
}

/** Banksman answers with a sentence on the first line and JSON after it. */
function repeat(name: string, answer: string): string {
  const text = answer.trim();
  const lineEnd = text.indexOf('\n');
  const [sentence, rest] = lineEnd < 0 ? ['', text] : [text.slice(0, lineEnd), text.slice(lineEnd + 1)];
  const request = /"status":\s*"pending"/.test(rest) ? /req-[0-9a-f]{8}/.exec(rest)?.[0] : undefined;
  const parts = [
    `\`${name}\` answered${sentence === '' ? ':' : `: **${sentence.replaceAll('*', '')}**`}`,
    details(rest),
    request ? `Once you have decided, say \`check ${request}\`.` : '',
    '_I am a scripted demo model and only repeat it._',
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** A list as one line a row; what the sentence has said already is left out; anything else as it came. */
function details(text: string): string {
  const result = resultOf(text);
  if (result === null) return '';
  const rows = rowsOf(result);
  const quote = rows ? rows.map(rowText).join('\n') : result === undefined ? text : JSON.stringify(result, undefined, 2);
  const shown = quote.length > MAX_QUOTE ? `${quote.slice(0, MAX_QUOTE)}\n… and ${quote.length - MAX_QUOTE} characters more` : quote;
  return `\`\`\`\n${shown.replaceAll('```', "'''")}\n\`\`\``;
}

/** Undefined for a text that is not an answer of Banksman, null for an answer with no result. */
function resultOf(text: string): unknown {
  try {
    const answer = JSON.parse(text) as { status?: unknown; result?: unknown };
    return typeof answer.status === 'string' ? (answer.result ?? null) : undefined;
  } catch {
    return undefined;
  }
}

function rowsOf(result: unknown): readonly object[] | undefined {
  const lists = [result, ...Object.values(result ?? {})].filter((value): value is object[] => Array.isArray(value) && value.length > 0);
  return lists.find((list) => list.every((row) => typeof row === 'object' && row !== null));
}

/** The columns that tell rows apart, or the first few of a row that has none of them. */
function rowText(row: object): string {
  const values = new Map(Object.entries(row).filter(([, value]) => ['string', 'number'].includes(typeof value) && value !== ''));
  const telling = COLUMNS.filter((name) => values.has(name)).map((name) => values.get(name));
  return (telling.length > 1 ? telling : [...values.values()]).slice(0, MAX_COLUMNS).join('  ');
}

/** Progress messages and titles, which the editor asks for without tools. */
function utilityText(messages: readonly ModelMessage[]): string {
  const last = messages.at(-1)?.content ?? '';
  return /json array of strings/i.test(last) ? JSON.stringify(['Reading the script', 'Finding the phrase']) : 'Scripted demo';
}

function helpText(prompt: string): string {
  const heard = prompt === '' ? '' : ` I do not know “${prompt.slice(0, 80)}”.`;
  const lists = phraseGroups.map(({ title, phrases }) => `- **${title}**: ${phrases.map(({ example }) => `\`${example}\``).join(', ')}`);
  return `${HONEST}${heard} What I understand:\n\n${lists.join('\n')}`;
}

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

/** A tool that the caller offers with its request. */
export interface OfferedTool {
  readonly name: string;
  /** Names of the tool's arguments, and which of them it insists on; both empty when it declares no schema. */
  readonly parameters: readonly string[];
  readonly required: readonly string[];
}

/** One message of the conversation, its content flattened to text. */
export interface ModelMessage {
  readonly role: string;
  readonly content: string;
  /** Names of the tools that an assistant's message calls; [] for any other message. */
  readonly calls: readonly string[];
}

export interface ModelTurn {
  /** Which of its names the model was asked under. */
  readonly model?: string;
  readonly tools: readonly OfferedTool[];
  readonly messages: readonly ModelMessage[];
}

export type ModelAnswer = { readonly text: string } | { readonly tool: string; readonly args: Readonly<Record<string, unknown>> };

/** What the model says to a turn. Requests without tools are the editor's own (titles, progress messages). */
export type ModelScript = (turn: ModelTurn) => ModelAnswer | Promise<ModelAnswer>;
