/** Requests as the command line prints them. */
import { osUser } from '#app/config/paths';
import type { AnswerResult } from '#kernel/approval/answer';
import { type RequestRecord, requestIdPattern } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import { formatDuration, showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, commandHint, operands } from './command-line.ts';
import { printJson, printText } from './output.ts';

/** Its only operand, checked before it becomes part of a key or a path. @throws {Fault} `bad_usage` */
export function requestId(words: readonly string[]): string {
  const [id = ''] = operands(words, ['ID']);
  if (requestIdPattern.test(id)) return id;
  throw badUsage(`\`${showPlainly(id, 40)}\` is no request’s id: \`req-\` and 8 hex digits`);
}

export function noSuchRequest(id: string, options: CommandOptions): Fault {
  const list = commandHint(['approvals', 'list'], options);
  return new Fault('not_found', `there is no request \`${id}\``, { audience: 'user', next: `see \`${list}\`` });
}

/** Who answers without a key: the OS user at the terminal. */
export function personHere(): string {
  return `user:${osUser().username}`;
}

/** For programs. What a detector matched is for people at a terminal only. */
export function requestJson(record: RequestRecord) {
  const { id, status, title, tier, impact, code, reason, agent, claim, risk, action, decision, reported } = record;
  return {
    request_id: id,
    status,
    title,
    tool: action.tool,
    arguments: action.arguments,
    cluster: action.cluster,
    tier,
    impact,
    code,
    reason,
    agent,
    ...(claim === undefined ? {} : { claim }),
    risk,
    ...(reported === undefined ? {} : { reported: { reason: reported.reason, destination: reported.destination } }),
    created_at: isoTime(record.createdAt),
    expires_at: isoTime(record.expiresAt),
    ...(decision === undefined ? {} : { decision: { ...decision, at: isoTime(decision.at) } }),
    ...(record.consumedAt === undefined ? {} : { consumed_at: isoTime(record.consumedAt) }),
  };
}

export function requestLine(record: RequestRecord, now: number): string {
  const age = `${formatDuration(now - record.createdAt)} ago`;
  const open = record.status === 'pending' ? `, ${formatDuration(record.expiresAt - now)} left` : '';
  const who = showPlainly(record.agent.id, 60);
  return `${record.id}  ${record.status.padEnd(9)} ${record.tier.padEnd(6)} ${showPlainly(record.title, 120)}  (${who}, ${age}${open})`;
}

/** Prints what came of an answer. 0 done, 1 no such request, 2 refused. */
export function reportAnswer(result: AnswerResult, id: string, options: CommandOptions): number {
  const { ok, code, message, record } = result;
  if (options.json) printJson({ ok, code, message, request_id: id, ...(record === undefined ? {} : { status: record.status }) });
  else printText(message);
  if (ok) return 0;
  return code === 'not_found' ? 1 : 2;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
