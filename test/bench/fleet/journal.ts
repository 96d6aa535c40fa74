/** What a process of a fleet saw, one JSON line each, in a file of its own: there after kill -9, too. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

export function journalTo(file: string): (line: Effect | Told | Answered) => void {
  return (line) => appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Whoever wrote it is known by its name. */
export function readJournal(file: string): readonly unknown[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

/** Guests are numbered through, from here on, and named for cluster and number. */
export const firstVmid = 1000;
export const guestName = (cluster: string, vmid: number) => `${cluster}-g${vmid}`;

/** Something that a cluster did. */
export interface Effect {
  readonly cluster: string;
  readonly vmid: number;
  /** `qmstart`, `qmstop`; `description` of a changed configuration. */
  readonly type: string;
  /** Of a task. */
  readonly upid?: string;
  /** Of a description: who asked for what, in the agent's own words. */
  readonly mark?: string;
}

/** One call of one agent: begun, and what it was told. */
export interface Told {
  readonly at: number;
  readonly agent: string;
  readonly call: number;
  readonly kind: CallKind;
  /** What the call would do, where it does something. */
  readonly target?: { readonly cluster: string; readonly vmid: number; readonly type: string; readonly mark?: string };
  /** Absent: begun. */
  readonly end?: { readonly status: string; readonly code: string; readonly ms: number; readonly request?: string };
  /** What must never be: another agent's answer, approval or place reached this one. */
  readonly crossed?: string;
}
/** `foreign`: in a cluster that the agent has no business in. `peek`: at another agent's request. */
export type CallKind = 'read' | 'change' | 'foreign' | 'peek';

/** A person's answer. */
export interface Answered {
  readonly by: string;
  readonly request: string;
  readonly answer: 'approve' | 'deny';
  readonly code: string;
}
