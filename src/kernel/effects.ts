/** What a run changed in the workspace, as the judge, the journal and the reports speak of it. */

export type EntryType = 'file' | 'directory' | 'link' | 'fifo' | 'socket' | 'device';

/** `attributes`: mode or times, the content stayed. `replace`: something of another type, or another directory, is there now. */
export type ChangeKind = 'create' | 'modify' | 'attributes' | 'delete' | 'replace';

/** One entry that would be different. Of a directory that is wholly new, or wholly gone, each entry is one. */
export interface Change {
  /** Below the workspace, `/`-separated. */
  readonly path: string;
  readonly kind: ChangeKind;
  /** Of what is there afterwards; of `delete`, of what was there. */
  readonly type: EntryType;
  /** Permission bits with set-id bits; of what is there afterwards. */
  readonly mode: number;
  /** Of the content; of a deleted directory 0, for what is in it counts by itself. */
  readonly bytes: number;
  /** Of a new or changed link: where it leads, every link on the way followed. Absolute; undefined where nobody can tell (a circle). */
  readonly leadsTo?: string | undefined;
  /** A link that was in the workspace before led to the same place. */
  readonly ledBefore?: true;
  /** Whether one of the new directories that hold the entry, or itself, has that name in it. */
  readonly newWith?: (name: string) => boolean;
  /** Of what goes with a directory: that one, the outermost. */
  readonly goneWith?: string;
  /**
   * The directory around it that git takes for a repository afterwards, whatever its name is (bare ones have any). `grown`: it is none before,
   * and has parts already that git would obey then.
   */
  readonly repository?: { readonly path: string; readonly grown?: boolean };
  /** Of `attributes`: the mode stayed too, so only the times are others. */
  readonly timesAlone?: true;
  /** Written by a tool for files, not by a program that knows the format. */
  readonly byHand?: true;
  /** Text of a small plain file, before (empty: there was none) and after; undefined where it is no text or too long. */
  readonly texts?: () => { readonly before: string; readonly after: string } | undefined;
  /** Whether a file of the same bytes lay at another path below the workspace before; of a directory, whether one did. */
  readonly sameAs?: (path: string) => boolean;
}

export interface Verdict {
  /** `hold`: a person decides. `refuse`: it is left out, and nobody is asked. */
  readonly action: 'apply' | 'hold' | 'refuse';
  /** Id of the row of the table that decided. */
  readonly rule: string;
  /** For people and models, without the path. */
  readonly why: string;
  /** Of `hold`: the directory around it that is held as a whole where it is new, too, for a part of it would be worth nothing. */
  readonly whole?: string;
}

/** What the judge knows beside the change. */
export interface JudgeGround {
  /** Absolute, links resolved. */
  readonly workspaceRoot: string;
  /** Places below it that the configuration of its repositories names as hooks or as more configuration; left out: none. */
  readonly obeyed?: readonly string[];
  /** Directories outside of programs that a person installed, absolute, links resolved; left out: none. */
  readonly programs?: readonly string[];
}

export type EffectJudge = (change: Change, ground: JudgeGround) => Verdict;

/** A change that did not happen. `conflict`: somebody else changed the same place meanwhile. */
export interface LeftOut {
  readonly path: string;
  readonly kind: ChangeKind;
  readonly reason: 'held' | 'refused' | 'conflict';
  readonly rule: string;
  readonly why: string;
}

/** Paths below the workspace; of a wholly new or deleted directory the directory alone, with a `/` at its end. */
export interface ChangeList {
  readonly created: readonly string[];
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
}

/** What came of a run. */
export interface RunEffects extends ChangeList {
  /** For `undo`; undefined where nothing was applied. */
  readonly runId?: string;
  /** For the person who decides about what is held; undefined where nothing is. */
  readonly heldId?: string;
  readonly leftOut: readonly LeftOut[];
  /** Of a read-only run: what would have changed is in the lists, and none of it did. */
  readonly dropped: boolean;
  /** Why nothing at all was applied (a limit, a conflict in a repository). */
  readonly nothingApplied?: string;
  /** What helps then. */
  readonly instead?: string;
}

/** What is known of a run right before its first change of the workspace: from here on it is applied whatever becomes of its caller. */
export type RunBegun = Pick<RunEffects, 'runId' | 'heldId' | 'leftOut'>;

/** One change as a person reads it; plain JSON, so that it can be signed as it is shown. Nothing in it is escaped. */
export interface ShownChange {
  readonly path: string;
  readonly kind: ChangeKind;
  /** What path and difference do not say: `link to /etc/passwd`, `mode 4755`, `12 bytes that are no text`. */
  readonly facts: readonly string[];
  /** Why it is held. */
  readonly why?: string;
  /** Lines as of `diff -u`, of small plain texts; left out: there is none to show. */
  readonly diff?: readonly string[];
}

export interface ShownChanges {
  readonly changes: readonly ShownChange[];
  /** Changes that are left out, for there are too many. */
  readonly more: number;
}

/** Changes that wait for a person, ready to be applied. */
export interface HeldChanges extends ShownChanges {
  readonly id: string;
  /** Of the command, or whatever made them. */
  readonly title: string;
  /** SHA-256 over every entry and all of its bytes. */
  readonly digest: string;
  /** What it takes away is more than the journal keeps. */
  readonly lost: boolean;
}

/** The tool that applies held changes; no caller can name it: it is asked for, and a person's approval runs it. */
export const applyHeldTool = 'apply_held';

export interface RunRecord extends ChangeList {
  readonly id: string;
  /** The command. */
  readonly title: string;
  /** Whose run it was. */
  readonly agentId: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly state: 'applied' | 'held' | 'undone';
  /** Bytes that the journal keeps for it. */
  readonly keptBytes: number;
}

/** What was done to a workspace, and taking it back. */
export interface RunHistory {
  /** Newest first. */
  list(): Promise<readonly RunRecord[]>;
  /**
   * @param options `force`: also where somebody changed the same places later; what is there is set aside. Once `signal` has aborted it does not begin
   * @throws {Fault} `no_such_run`, `not_undoable`, `undo_in_the_way`; the signal's reason, where nothing was begun
   */
  undo(id: string, options: { readonly force: boolean; readonly signal?: AbortSignal }): Promise<ChangeList>;
  /** What the journal may keep; ms. */
  readonly limits: { readonly journalBytes: number; readonly journalMs: number };
  /** Runs that some process is still at, or that nobody could finish. */
  unfinished(): Promise<readonly string[]>;
  /** What the run changed, or would change where it is held. @throws {Fault} `no_such_run`, `not_kept` */
  show(id: string): Promise<ShownChanges>;
  /** Of one file that the run changed: what is there now, and what was there before. undefined: no text, or no such file in it. */
  texts(id: string, path: string): Promise<{ readonly now: string; readonly before: string } | undefined>;
  heldIds(): Promise<readonly string[]>;
  /** undefined: nothing of that name is held any more. */
  held(id: string): Promise<HeldChanges | undefined>;
  /**
   * Applies all of what is held, or nothing: a person said so.
   * @throws {Fault} `held_gone`, `held_changed` (other entries or bytes than the digest's), `held_conflict` (the places changed)
   */
  applyHeld(id: string, digest: string): Promise<RunEffects>;
  /** Nothing of that name: nothing to do. */
  dropHeld(id: string): Promise<void>;
}
