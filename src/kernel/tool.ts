/** A tool is declared once; every surface is derived from that declaration (docs/architecture.md). */
import type * as z from 'zod';
import type { Agent } from './agent.ts';
import type { JsonValue } from './json.ts';
import type { KnownEffect } from './known-effect.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { Clock } from './ports/clock.ts';
import type { ClusterPort } from './ports/cluster.ts';
import type { CommandRunner } from './ports/command-runner.ts';
import type { RequestStore } from './ports/request-store.ts';
import type { SecurityView } from './ports/security-view.ts';
import type { NodeShell } from './ports/shell.ts';
import type { Waker } from './ports/waker.ts';
import type { WorkspaceFiles, WorkspaceSearch } from './ports/workspace.ts';
import type { Resource, Target } from './resource.ts';
import type { ActionTier, Impact, Permission, ToolGroup } from './tiers.ts';

/** What a handler ends with when nothing broke. A failure it expected is a value, too. */
export type ToolResult =
  | { readonly ok: true; readonly message: string; readonly result: JsonValue; readonly next?: string }
  | {
      readonly ok: false;
      readonly code: string;
      readonly message: string;
      readonly result?: JsonValue;
      readonly next?: string;
      /** Where it is not simply what the handler noted last. */
      readonly effect?: KnownEffect;
    };

/** Everything of one cluster that a cluster tool may use. */
export interface ClusterAccess {
  readonly api: ClusterPort;
  readonly shell: NodeShell;
  readonly waker: Waker;
}

/** The workspace of this process. */
export interface WorkspaceAccess {
  readonly files: WorkspaceFiles;
  readonly search: WorkspaceSearch;
  readonly runner: CommandRunner;
}

/** What a handler gets: only what it may use, all of it under one signal. */
export interface ToolContext {
  /** The caller, already identified. */
  readonly agent: Agent;
  /** Aborts on the call's deadline or the caller's cancel. */
  readonly signal: AbortSignal;
  /** The resolved targets, in the order of `touches`. Handlers use these, never the raw arguments. */
  readonly targets: readonly Target[];
  /** The cluster of this call. @throws {Fault} `no_cluster` for a tool outside the cluster group */
  cluster(): ClusterAccess;
  /** The workspace. @throws {Fault} `no_workspace` where there is none */
  workspace(): WorkspaceAccess;
  /** Requests, to look at only; what a report matched (`reported.pattern`) is left out. */
  readonly requests: Pick<RequestStore, 'get' | 'list' | 'countPending' | 'countApproved'>;
  /** The trail, to look at only. It holds what other agents did: hand out no more of it than the one who asks may know. */
  readonly trail: Pick<AuditLog, 'read' | 'head' | 'ofRequest'>;
  readonly security: SecurityView;
  readonly clock: Clock;
  /** Says how far it is, to whoever watches. */
  progress(message: string): void;
  /** For handlers that change something: what is known from now on, should the call fail or be ended. Before the first word: nothing was done. */
  noteEffect(effect: KnownEffect): void;
  /** What is left of the call's limit, in ms. */
  leftMs(): number;
}

/** What surely stands in the way of a call. Codes as of outcomes; `next` as far as there is something to do. */
export interface Obstacle {
  readonly code: string;
  readonly message: string;
  readonly next?: string;
}

/** What `touches` may know of the caller. */
export interface Caller {
  holds(permission: Permission): boolean;
}

export interface ToolDefinition<Input extends z.ZodObject = z.ZodObject> {
  /** `verb_noun`; stable. */
  readonly name: string;
  readonly title: string;
  /** For models: what it does, what it returns, when to use it and when not. Not localized. */
  readonly description: string;
  readonly group: ToolGroup;
  readonly tier: ActionTier;
  readonly impact: Impact;
  readonly permission: Permission;
  /** The call's limit in ms; a person's time is not counted. */
  readonly timeoutMs: number;
  /** Where the arguments set the call's limit, it counts instead of `timeoutMs`, in ms. */
  limitMs?(input: z.output<Input>): number;
  /** Strict: an unknown key is refused by name. */
  readonly input: Input;
  /** Names of arguments whose values no record, log line or explanation holds. */
  readonly concealed?: readonly string[];
  /** Every resource the call touches. Without a caller: as for one who holds the least that the tool needs. */
  touches(input: z.output<Input>, caller?: Caller): readonly Resource[];
  /** The question a person is asked, from the resolved targets: `Stop VM 100 (web) on pve`. */
  headline(input: z.output<Input>, targets: readonly Target[]): string;
  /**
   * What surely stands in the way, from live data: the call is refused with it before a person is asked. undefined where there is nothing, or
   * nothing that could be read. May reject: then the call goes on.
   */
  precheck?(input: z.output<Input>, context: Pick<ToolContext, 'targets' | 'signal' | 'cluster'>): Promise<Obstacle | undefined>;
  /** Blast radius from live data, one sentence a fact. Only for tools that may ask. */
  preview?(input: z.output<Input>, context: ToolContext): Promise<readonly string[]>;
  run(input: z.output<Input>, context: ToolContext): Promise<ToolResult>;
  /**
   * Keys of the result, at any depth, whose strings are free text from outside (a file, a command's output, notes): they are marked as data for
   * models. Not names, numbers and states that programs read. Absent: there is none.
   */
  readonly outsideText?: readonly string[];
}

/** A definition with its input type forgotten: what the pipeline and the catalog hold. */
export type Tool = ToolDefinition;

/** What hosts may know of a tool: everything but the way to run it. */
export type ToolDescription = Pick<Tool, 'name' | 'title' | 'description' | 'group' | 'tier' | 'impact' | 'permission' | 'timeoutMs'> & {
  /** JSON Schema 2020-12 of the input. */
  readonly inputSchema: { readonly [key: string]: unknown };
};

/** Declares a tool. The widening is sound: the pipeline passes a handler only what this very `input` schema has parsed. */
export function defineTool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  return definition;
}
