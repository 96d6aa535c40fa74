/** What the model says while an agent is tried: calls that were written down beforehand, one after the other's result. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelAnswer, ModelScript, ModelTurn } from '../../scripts/bench/scripted-agent.ts';
import type { OwnCall, TestedAgent } from './agents.ts';

/** A result of a tool that the model was shown. */
export interface Seen {
  readonly text: string;
  /** From the model's call to the result, in ms. */
  readonly took: number;
  /** false: the agent did not offer the tool, so that it was not called. */
  readonly isOffered?: false;
}

export interface Conversation {
  /** Calls of the model, in their order. */
  readonly steps: readonly OwnCall[];
  /** Called when the model gets a result, before it goes on. */
  readonly onSeen?: (index: number, seen: Seen) => void | Promise<void>;
}

interface Followed {
  readonly script: ModelScript;
  /** One for each step so far. */
  readonly seen: readonly Seen[];
  /** All that was offered at some time. */
  readonly tools: ReadonlySet<string>;
}

/** How often a tool is looked for, half a second apart: its server may still be starting. */
const mostSearches = 20;

/** A model that goes through the steps; each tool is looked for first where the agent hides it. */
export function follow({ find }: Pick<TestedAgent, 'find'>, { steps, onSeen = () => undefined }: Conversation): Followed {
  const seen: Seen[] = [];
  const tools = new Set<string>();
  const searches = new Map<string, number>();
  let results = 0;
  let askedAt = 0;
  let isStep = false;

  async function note(one: Seen): Promise<void> {
    seen.push(one);
    await onSeen(seen.length - 1, one);
  }

  async function look(search: (tool: string) => OwnCall, tool: string): Promise<OwnCall | undefined> {
    const before = searches.get(tool) ?? 0;
    if (before === mostSearches) return undefined;
    if (before > 0) await sleep(500);
    searches.set(tool, before + 1);
    isStep = false;
    return search(tool);
  }

  /** undefined: the agent does not offer it. */
  async function callOf(step: OwnCall, { tools: offered }: ModelTurn): Promise<OwnCall | undefined> {
    isStep = true;
    if (offered.some(({ name }) => name === step.tool)) return step;
    if (find === undefined) return undefined;
    if (find.call !== undefined && searches.has(step.tool)) return find.call(step);
    return look(find.search, step.tool);
  }

  async function script(turn: ModelTurn): Promise<ModelAnswer> {
    // Titles and the like are asked for without tools.
    if (turn.tools.length === 0) return { text: 'a scripted model' };
    for (const { name } of turn.tools) tools.add(name);
    const answers = turn.messages.filter(({ role }) => role === 'tool');
    const isNew = answers.length > results;
    results = answers.length;
    if (isNew && isStep) await note({ text: answers.at(-1)?.content ?? '', took: Date.now() - askedAt });
    for (let step = steps[seen.length]; step !== undefined; step = steps[seen.length]) {
      const call = await callOf(step, turn);
      askedAt = Date.now();
      if (call !== undefined) return call;
      await note({ text: `it does not offer ${step.tool}`, took: 0, isOffered: false });
    }
    return { text: 'done' };
  }
  return { script, seen, tools };
}
