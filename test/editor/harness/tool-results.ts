import type { ScriptedModel } from '../../../scripts/bench/scripted-model.ts';
import { waitUntil } from './wait-until.ts';

/** What the agent's loop sent back to the model as results of tool calls, oldest first; each only once. */
export function toolResults(model: ScriptedModel): string[] {
  return model.requests
    .filter((turn) => turn.tools.length > 0 && turn.messages.at(-1)?.role === 'tool')
    .map((turn) => turn.messages.at(-1)?.content ?? '');
}

/** Waits until the model has been told the result of the `count`th call. */
export function waitForToolResult(model: ScriptedModel, count: number, timeoutMs = 90_000): Promise<string> {
  return waitUntil(`the result of tool call ${count}`, () => toolResults(model)[count - 1], timeoutMs);
}
