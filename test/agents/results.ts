/** What was found with real agents, as test/agents/results.json keeps it and the docs show it. */
import type { TestedAgent } from './agents.ts';
import type { Finding } from './cases.ts';
import type { HookFindings } from './hook-cases.ts';

interface Tried {
  readonly version: string;
  /** The day on which it was tried. */
  readonly date: string;
}

export interface AgentResult {
  /** By the case's id. */
  readonly client?: Tried & { readonly cases: Readonly<Record<string, Finding>> };
  readonly hook?: Tried & HookFindings;
}

/** By the agent's name. */
export type AgentResults = Readonly<Record<string, AgentResult>>;

export function triedNow({ version }: TestedAgent): Tried {
  return { version, date: new Date().toISOString().slice(0, 10) };
}

/** Each with what was tried, in words for a log. */
export function findingsOf({ client, hook }: AgentResult): readonly (readonly [string, Finding])[] {
  const { kinds = {}, broken, switchedOff, managed } = hook ?? {};
  const ofHook = Object.entries({ ...kinds, broken, switchedOff, managed }).flatMap(([name, found]) =>
    found === undefined ? [] : [[`hook, ${name}`, found] as const],
  );
  return [...Object.entries(client?.cases ?? {}), ...ofHook];
}
