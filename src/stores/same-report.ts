/** Whether an agent says the same again. */
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { RequestDraft } from '#kernel/request';

/** The same report of the same agent: same digest, same block. Whose words around it differ, it is still one. */
export function isSameReport(known: RequestDraft, draft: RequestDraft): boolean {
  return known.agent.id === draft.agent.id && known.digest === draft.digest && blockOf(known) === blockOf(draft);
}

function blockOf({ reported }: RequestDraft): string | undefined {
  return reported && canonicalJson(reported as unknown as JsonObject);
}
