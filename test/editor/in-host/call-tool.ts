import { setTimeout as sleep } from 'node:timers/promises';
import type { InHost, Question } from './in-host-case.ts';

/** An answer sooner than 700 ms after the question does not count. */
export const PERSON_MS = 800;

/** The JSON that a tool answers with, after its sentence. */
export interface Outcome {
  readonly status: string;
  readonly code: string;
  readonly message: string;
  readonly request_id?: string;
  readonly result?: unknown;
}

/** Calls a tool as another extension would; the editor's own confirmation answers itself in this kind of test. */
export async function callTool({ api }: InHost, tool: string, input: object): Promise<Outcome> {
  const result = await api.lm.invokeTool(`banksman_${tool}`, { input, toolInvocationToken: undefined });
  const text = result.content.map((part) => (part instanceof api.LanguageModelTextPart ? part.value : '')).join('');
  return JSON.parse(text.slice(text.indexOf('\n') + 1)) as Outcome;
}

/** Answers every question about a call like a person who takes a moment, and keeps what was asked; a new key is trusted. */
export function answerSlowly({ seam }: InHost, button: string | undefined): Question[] {
  const asked: Question[] = [];
  seam.answerWith(async (question) => {
    const isKey = question.buttons.includes('Trust This Key');
    if (!isKey) asked.push(question);
    await sleep(PERSON_MS);
    return isKey ? 'Trust This Key' : button;
  });
  return asked;
}
