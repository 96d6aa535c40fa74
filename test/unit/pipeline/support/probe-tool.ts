/** A tool of a test's own, which counts its runs. */

import * as z from 'zod';
import { reasonArgument } from '#kernel/arguments';
import { say } from '#kernel/text/message';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '#kernel/tool';

export interface Probe {
  readonly tool: Tool;
  readonly runs: unknown[];
}

export type ProbeRun = (input: unknown, context: ToolContext) => Promise<ToolResult> | ToolResult;

const done: ProbeRun = () => ({ ok: true, message: 'done', result: { done: true } });

/** Touches no cluster unless told to, so that nothing but the pipeline itself decides. */
export function createProbe(changes: Partial<Tool> = {}, run: ProbeRun = done): Probe {
  const runs: unknown[] = [];
  const tool = defineTool({
    name: 'probe_tool',
    title: 'Probe',
    description: 'A tool that only tests have.',
    group: 'security',
    tier: 'green',
    impact: 'none',
    permission: 'data:read',
    input: z.strictObject({ value: z.string().optional(), reason: reasonArgument }),
    touches: () => [],
    headline: () => say`Probe`,
    run: async (input, context) => {
      runs.push(input);
      return run(input, context);
    },
    ...changes,
  });
  return { tool, runs };
}
