/** A tool's behaviour in the words of MCP (`ToolAnnotations`, specification 2025-11-25 and later). */
import type { ToolDescription } from '#kernel/tool';

export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly openWorldHint: boolean;
}

/** Derived from the tier and the impact, so that they cannot contradict them. Hints for clients' dialogs; nothing here depends on them. */
export function toolAnnotations({ tier, impact }: Pick<ToolDescription, 'tier' | 'impact'>): ToolAnnotations {
  return { readOnlyHint: tier === 'green', destructiveHint: impact === 'disruptive' || impact === 'irreversible', openWorldHint: false };
}
