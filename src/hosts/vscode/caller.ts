/** Who calls through the chat (docs/design.md#words). */
import { createHash } from 'node:crypto';
import { chatAgent } from '#app/agents';
import type { Agent } from '#kernel/agent';
import { canonicalJson, isJsonObject, type JsonValue } from '#kernel/json';
import type { ModelTier } from '#kernel/tiers';

/**
 * The agent behind a language-model tool call. Its id is a hash of the chat session, which the opaque token happens to carry; a token is
 * neither secret nor checked by the editor, so it tells sessions apart and proves nothing. Callers that bring none (another extension's
 * `lm.invokeTool`) share one agent, `chat:unknown-caller`: the same after a restart, and no easier to get away with than any other.
 */
export function chatCaller(token: unknown, modelTier: ModelTier): Agent {
  const session = chatSession(token);
  if (session === undefined) return { ...chatAgent('unknown-caller', modelTier), label: 'no chat session' };
  return chatAgent(createHash('sha256').update(session).digest('hex').slice(0, 16), modelTier);
}

function chatSession(token: unknown): string | undefined {
  try {
    // Through JSON: what is left is data, with no getters or cycles.
    const data: unknown = JSON.parse(JSON.stringify(token) ?? 'null');
    if (!isJsonObject(data)) return undefined;
    return uriText(data.sessionResource) ?? canonicalJson(data);
  } catch {
    return undefined;
  }
}

/** A URI's parts only: its `external` and `fsPath` are caches that are there or not, `workingDirectory` beside it may change. */
function uriText(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value) || typeof value.scheme !== 'string') return undefined;
  return canonicalJson(['scheme', 'authority', 'path', 'query'].map((part) => value[part] ?? ''));
}
