/** An outcome as the result of `tools/call`. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Outcome } from '#kernel/outcome';

/**
 * Structured for programs, and the same as text for clients that read nothing else (MCP 2025-11-25, tools, structured content).
 * Everything but `ok` is an error to the client, pending included: what was asked for has not happened.
 */
export function callResult(outcome: Outcome): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(outcome) }],
    structuredContent: { ...outcome },
    ...(outcome.status === 'ok' ? {} : { isError: true }),
  };
}
