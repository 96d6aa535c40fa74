/** An outcome in the agent's own form. */

import type { Socket } from 'node:net';
import { type JsonObject, textOf } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { HookAgent } from './agents.ts';

/** What the hook's process ends with. INVARIANT: standard output is empty or the agent's own JSON, for any other text lets the call run. */
export interface HookAnswer {
  readonly status: 0 | 2;
  readonly stdout: string;
  readonly stderr: string;
}

export function answerTo(agent: HookAgent, event: JsonObject, outcome: Outcome): HookAnswer {
  if (outcome.status === 'ok')
    return { status: 0, stdout: agent.saysYes === true ? JSON.stringify({ permission: 'allow' }) : '', stderr: '' };
  const reason = reasonOf(outcome);
  return { status: 0, stdout: JSON.stringify(refusal(agent, event, reason)), stderr: '' };
}

/** Of our own: no agent runs a call whose hook ends with 2. */
export function failed(why: string): HookAnswer {
  return { status: 2, stdout: '', stderr: `banksman: refused, for this call could not be judged: ${showPlainly(why, 2_000)}\n` };
}

function refusal({ answer }: HookAgent, event: JsonObject, reason: string): JsonObject {
  const { hook_event_name: snake, hookEventName: camel } = event;
  const flat = { permissionDecision: 'deny', permissionDecisionReason: reason };
  switch (answer) {
    case 'gemini':
      return { decision: 'deny', reason };
    case 'cursor':
      return { permission: 'deny', user_message: reason, agent_message: reason };
    case 'flat':
      // Named as Claude Code's event it is answered as there.
      return snake === 'PreToolUse' ? { hookSpecificOutput: { hookEventName: snake, ...flat } } : flat;
    case 'claude':
      return { hookSpecificOutput: { hookEventName: textOf(snake) ?? textOf(camel) ?? 'PreToolUse', ...flat } };
  }
}

/** For the model, which cannot ask us how its request stands. */
function reasonOf({ status, message, next, request_id: id }: Outcome): string {
  if (status === 'pending' && id !== undefined)
    return `Banksman asks a person: request ${id} (they see it with \`banksman approvals show ${id}\`, in the editor and on the approval page). Nothing was done. Once it is approved, make exactly this call again, once; until then do something else or tell the user. ${message}`;
  return `Banksman: ${message}${next === undefined ? '' : `; ${next}`}`;
}

// What a hook's process and the warm one behind it say to each other: one line of JSON each way.

export interface HookQuestion {
  readonly agent: string;
  readonly event: JsonObject;
  readonly cwd: string;
}
/** `stale`: this process is made from what is no longer there; ask another one. */
export type HookReply = HookAnswer | { readonly stale: true };

/** In UTF-16 code units; a whole file that is written may stand in it. */
export const longestQuestion = 20_000_000;

/** Up to its first line break: some programs half-close badly, so no end of the stream is waited for. @throws {Error} */
export function readLine(peer: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const parts: Buffer[] = [];
  let length = 0;
  peer.on('data', (part: Buffer) => {
    const end = part.indexOf(10);
    parts.push(end < 0 ? part : part.subarray(0, end));
    length += part.length;
    if (end >= 0) resolve(Buffer.concat(parts).toString('utf8'));
    else if (length > longestQuestion) reject(new Error('it is too long'));
  });
  peer.once('close', () => reject(new Error('the connection ended before its line')));
  return promise;
}
