/** What both stores ask of a draft before anything is written. */
import { Fault } from '#kernel/errors';
import type { RequestDraft } from '#kernel/request';
import { parseRequestDraft } from '#kernel/request-schema';

/** The one tool whose requests are reports; nothing runs on their grants. */
const reportTool = 'report_block';

/** @throws {Fault} `bad_request_draft`: what could not be read back must not be written */
export function requireStorable(draft: RequestDraft): void {
  const stored = parseRequestDraft(JSON.stringify(draft));
  if (stored && draft.agent.id === draft.action.agentId && isHonestReport(draft)) return;
  throw new Fault('bad_request_draft', 'this request cannot be stored: a field is missing, unknown or of the wrong kind', {
    audience: 'bug',
  });
}

/** SECURITY: only a report names its own id, and a report is never a question about another tool. */
function isHonestReport({ reported, reportId, action }: RequestDraft): boolean {
  return reported === undefined ? reportId === undefined : action.tool === reportTool;
}
