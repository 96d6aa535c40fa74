/** identify and validate: a known tool, and input that its strict schema takes. */
import type * as z from 'zod';
import { permits } from '#identity/permissions';
import type { Agent, AgentHost } from '#kernel/agent';
import { reasonArgument } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { foundWords, issueWords } from '#kernel/text/issue-words';
import type { Caller, Tool } from '#kernel/tool';
import { goOn, refuse, type Step, type Validated } from './stage.ts';

/** @param internal whether tools that no caller can name count, too @param host the caller's: a hook has tools of its own, and no others */
export function findTool(name: string, all: readonly Tool[], internal = false, host?: AgentHost): Step<Tool> {
  const isTheirs = (entry: Tool) => internal || entry.internal === (host === 'hook' ? 'hook' : undefined);
  const tool = all.find((entry) => entry.name === name && isTheirs(entry));
  if (tool !== undefined) return goOn(tool);
  const theirs = all.filter(isTheirs).map((entry) => entry.name);
  const begun = theirs.filter((candidate) => candidate.startsWith(name) || name.startsWith(candidate));
  const near = [...new Set([...begun, ...theirs.filter((candidate) => sharesWord(candidate, name))])].slice(0, name === '' ? 0 : 5);
  const hint = near.length > 0 ? `; did you mean ${near.map((entry) => `\`${entry}\``).join(', ')}?` : '';
  return refuse({
    status: 'error',
    code: 'unknown_tool',
    message: `no tool is named \`${name.slice(0, 100)}\`${hint}`,
    next: 'list the tools and use a name from there',
  });
}

export function validate(tool: Tool, input: unknown, agent: Agent): Step<Validated> {
  const parsed = tool.input.safeParse(input ?? {}, { error: issueWords });
  if (!parsed.success) {
    return refuse({
      status: 'error',
      code: 'invalid_input',
      message: explainIssues(tool, parsed.error.issues, input),
      next: 'correct the arguments and call again',
    });
  }
  const { reason, rest } = withoutClaim(tool, parsed.data as JsonObject);
  const claim = typeof reason === 'string' && reason !== '' ? { claim: reason } : {};
  return goOn({ tool, input: dropUndefined(rest), ...claim, resources: tool.touches(parsed.data, callerOf(agent)) });
}

/** The shared `reason` argument is the agent's claim: shown to the person, left out of the digest. A tool's own `reason` is an argument. */
function withoutClaim(tool: Tool, input: JsonObject): { readonly reason?: JsonObject[string]; readonly rest: JsonObject } {
  if (tool.input.shape['reason'] !== reasonArgument) return { rest: input };
  const { reason, ...rest } = input;
  return { reason, rest };
}

function callerOf(agent: Agent): Caller {
  return { holds: (permission) => permits(agent.modelTier, permission) };
}

/** The call's limit in ms: the configured one, unless the arguments set their own. */
export function limitOf(tool: Tool | undefined, input: unknown, callMs: number): number {
  const parsed = tool?.limitMs === undefined ? undefined : tool.input.safeParse(input ?? {});
  return tool?.limitMs !== undefined && parsed?.success ? tool.limitMs(parsed.data) : callMs;
}

function explainIssues(tool: Tool, issues: readonly z.core.$ZodIssue[], input: unknown): string {
  return issues
    .slice(0, 5)
    .map((issue) => (issue.code === 'unrecognized_keys' ? explainKeys(tool, issue.keys) : explainValue(tool, issue, input)))
    .join('; ');
}

function explainKeys(tool: Tool, keys: readonly string[]): string {
  const allowed = Object.keys(tool.input.shape).map((key) => `\`${key}\``);
  const unknown = `unknown argument ${keys.map((key) => `\`${key.slice(0, 60)}\``).join(', ')}; \`${tool.name}\` takes ${allowed.length > 0 ? allowed.join(', ') : 'no arguments'}`;
  return keys.some((key) => approvalLike.test(key))
    ? `${unknown}. Only a person can confirm a call, in the editor or with the approvals command; no argument does`
    : unknown;
}

function explainValue(tool: Tool, { path, message }: z.core.$ZodIssue, input: unknown): string {
  const concealed = tool.concealed?.includes(String(path[0])) === true;
  return `\`${path.join('.') || 'input'}\`: ${message}${concealed ? '' : foundWords(input, path)}`;
}

/** Names under which models try to confirm for themselves. */
const approvalLike = /confirm|approv|force|override|authoriz|bypass|sudo|grant/i;

function dropUndefined(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

function sharesWord(candidate: string, name: string): boolean {
  const words = new Set(name.toLowerCase().split(/[^a-z0-9]+/));
  return candidate.split('_').some((word) => word !== 'get' && words.has(word));
}
