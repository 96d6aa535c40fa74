/**
 * Tells a person, through the client, where to answer.
 *
 * SECURITY: a pointer, never the answer. The client is software that the model may drive, so what comes back decides nothing: not whether
 * the call runs, only whether somebody is there to wait for.
 */
import { requestIdPattern } from '#kernel/request';
import { showPlainly } from '#kernel/text';

/** Key of the pointer among a 2026-07-28 call's input requests. */
export const pointerKey = 'answer_elsewhere';

export interface Pointer {
  readonly message: string;
  /** Nothing to fill in: an answer here would look like one that counts. */
  readonly requestedSchema: { readonly type: 'object'; readonly properties: Record<string, never> };
}

/** @param title what would happen, as in the approvals view; shown plainly, since names from the cluster are in it */
export function pointerTo(requestId: string, title: string): Pointer {
  const id = requestIdPattern.test(requestId) ? requestId : 'unknown';
  return {
    message:
      `${showPlainly(title)}: this waits for you as request ${id}. Answer it in VS Code (Banksman: pending approvals) or in a terminal of ` +
      `your own with \`banksman approvals show ${id}\`. What you press here approves nothing.`,
    requestedSchema: { type: 'object', properties: {} },
  };
}

/** Whether the client brought back an answer to the pointer, and whether somebody acknowledged it. */
export function pointerAnswer(responses: Readonly<Record<string, unknown>> | undefined): 'none' | 'seen' | 'dismissed' {
  const answer = responses !== undefined && Object.hasOwn(responses, pointerKey) ? responses[pointerKey] : undefined;
  if (typeof answer !== 'object' || answer === null) return 'none';
  return 'action' in answer && answer.action === 'accept' ? 'seen' : 'dismissed';
}
