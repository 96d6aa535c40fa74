import { findPhrase, phraseGroups } from './scripted-phrases.ts';
import type { ModelAnswer, ModelMessage, ModelTurn, OfferedTool } from './scripted-turn.ts';

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
