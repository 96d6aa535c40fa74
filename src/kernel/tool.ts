/** A tool is declared once; every surface is derived from that declaration (docs/architecture.md). */
import type * as z from 'zod';
import type { Agent } from './agent.ts';
import type { RequestRecord } from './approval/request.ts';
import type { ReportedBlock } from './approval/security.ts';
import type { AttemptStanding } from './attempt.ts';
import type { GuestCondition, Inverse } from './guest-condition.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { KnownEffect } from './known-effect.ts';
import type { ProposedStep, Rehearsal } from './plans/plan.ts';
import type { PlanProgress } from './plans/plan-progress.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { Clock } from './ports/clock.ts';
import type { ClusterPort } from './ports/cluster.ts';
import type { CommandRunner } from './ports/command-runner.ts';
import type { RequestStore } from './ports/request-store.ts';
import type { NodeShell } from './ports/shell.ts';
import type { WorkspaceFiles, WorkspaceSearch } from './ports/workspace.ts';
import type { Resource, Target } from './resource.ts';
import type { Message } from './text/message.ts';
import type { ActionTier, Impact, Permission, SecurityLevel, ToolGroup } from './tiers.ts';

/** What a handler ends with when nothing broke. A failure it expected is a value, too. */
export type ToolResult =
  | { readonly ok: true; readonly message: string; readonly result: JsonValue; readonly next?: string; readonly asks?: FollowUp }
  | {
      readonly ok: false;
      /** The policy refused what it was to prepare: no failure of the call's own. */
      readonly denied?: true;
      /** Of what was refused then. */
      readonly tier?: ActionTier;
      readonly code: string;
      readonly message: string;
      readonly result?: JsonValue;
      readonly next?: string;
      /** Where it is not simply what the handler noted last. */
      readonly effect?: KnownEffect;
      readonly asks?: FollowUp;
    };

/** What a person may have to let happen, found out while a call ran: the pipeline takes it the whole path. */
export interface FollowUp {
  /** An internal one. */
  readonly tool: string;
  readonly input: JsonObject;
  /** What the caller can do instead of waiting for the person. */
  readonly instead?: string;
  /** On the grant of this request or not at all: no new question is asked. */
  readonly onGrantOf?: string;
  /** What comes of it is the answer, and the call that asks only its beginning. Absent: the other way round. */
  readonly as?: 'plan';
}

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
  /** What the call was approved for, read again just before; undefined where nobody was asked or the tool has no `precondition`. */
  readonly before?: readonly GuestCondition[];
  /** The cluster of this call. @throws {Fault} `no_cluster` for a tool outside the cluster group */
  cluster(): ClusterAccess;
  /** The workspace. @throws {Fault} `no_workspace` where there is none */
  workspace(): WorkspaceAccess;
  /** Requests, to look at only; what a report matched (`reported.pattern`) is left out. */
  readonly requests: Pick<RequestStore, 'get' | 'list' | 'countPending' | 'countApproved'>;
  /** The trail, to look at only. It holds what other agents did: hand out no more of it than the one who asks may know. */
  readonly trail: Pick<AuditLog, 'read' | 'head' | 'ofRequest'>;
  /** How a call stands that began and has no end; looked at now. Absent: nobody looks. Never rejects. */
  attemptNow?(call: string): Promise<AttemptStanding | undefined>;
  readonly security: SecurityView;
  readonly plans: PlanDesk;
  /** The request whose grant the call runs on, where it is one's. */
  readonly requestId?: string;
  readonly clock: Clock;
  /** Says how far it is, to whoever watches. */
  progress(message: string): void;
  /**
   * For handlers that change something: what is known from now on, should the call fail or be ended, and what is asked for then. Before the first
   * word: nothing was done.
   */
  noteEffect(effect: KnownEffect, asks?: FollowUp): void;
  /** What is left of the call's limit, in ms. */
  leftMs(): number;
}

/** What surely stands in the way of a call. Codes as of outcomes; `next` as far as there is something to do. */
export interface Obstacle {
  readonly code: string;
  readonly message: string;
  readonly next?: string;
}

/** What a call takes from others, for a while or for good. */
export type Loss =
  | { readonly kind: 'guest'; readonly vmid: number }
  | { readonly kind: 'node'; readonly node: string }
  | { readonly kind: 'storage'; readonly storage: string; readonly node?: string };

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
  /** Where the arguments set the call's limit, it counts instead of the configured one, in ms; a person's time is not counted. */
  limitMs?(input: z.output<Input>): number;
  /** Strict: an unknown key is refused by name. */
  readonly input: Input;
  /** Names of arguments whose values no record, log line or explanation holds. */
  readonly concealed?: readonly string[];
  /** Where a client shows a model few tools, it is reached by name through one that holds all of these; everywhere else it is like any other. */
  readonly rare?: true;
  /** It runs only what a person has approved, on that grant: at no security level is one asked for besides. */
  readonly onGrant?: true;
  /**
   * No list shows it. `true`: no caller can name it; the pipeline asks for it, and a person's approval runs it. `hook`: it is an agent's own tool, which
   * is only judged here and which that agent runs itself; callers of the host `hook` name it.
   */
  readonly internal?: true | 'hook';
  /** Where the targets or the arguments make it another one than `impact`. */
  impactOf?(targets: readonly Target[], input: z.output<Input>): Impact;
  /** Every resource the call touches. Without a caller: as for one who holds the least that the tool needs. */
  touches(input: z.output<Input>, caller?: Caller): readonly Resource[];
  /** The question a person is asked, from the resolved targets: `Stop VM 100 (web) on pve`. */
  headline(input: z.output<Input>, targets: readonly Target[]): Message;
  /**
   * What surely stands in the way, from live data: the call is refused with it before a person is asked. undefined where there is nothing, or
   * nothing that could be read. May reject: then the call goes on.
   */
  precheck?(input: z.output<Input>, context: Pick<ToolContext, 'targets' | 'signal' | 'cluster'>): Promise<Obstacle | undefined>;
  /**
   * The guests that the call changes or makes, as they are now, one for each: a grant is worth something for just this state. Reads only; what
   * cannot be read is left out.
   */
  precondition?(input: z.output<Input>, context: Pick<ToolContext, 'targets' | 'signal' | 'cluster'>): Promise<readonly GuestCondition[]>;
  /**
   * The call that takes this one back, as far as `before` and the arguments tell: shown to the person who decides, and kept by a plan. `result` is
   * the call's own once it has run. Pure.
   */
  inverse?(input: z.output<Input>, before: readonly GuestCondition[], result?: JsonValue): Inverse;
  /** What stands still or is gone once it runs: what others lose by that is looked up, and told to the person who decides. Pure. */
  takes?(input: z.output<Input>, targets: readonly Target[]): readonly Loss[];
  /** Blast radius from live data, one sentence a fact. Only for tools that may ask. */
  preview?(input: z.output<Input>, context: ToolContext): Promise<readonly Message[]>;
  run(input: z.output<Input>, context: ToolContext): Promise<ToolResult>;
  /**
   * Keys of the result, at any depth, whose strings are free text from outside (a file, a command's output, notes): they are marked as data for
   * models. Not names, numbers and states that programs read. Absent: there is none.
   */
  readonly outsideText?: readonly string[];
}

/** A definition with its input type forgotten: what the pipeline and the catalog hold. */
export type Tool = ToolDefinition;

/** Of a call with these targets. */
export function impactOf(tool: Tool, targets: readonly Target[], input: z.output<Tool['input']>): Impact {
  return tool.impactOf?.(targets, input) ?? tool.impact;
}

/** What hosts may know of a tool: everything but the way to run it. */
export type ToolDescription = Pick<Tool, 'name' | 'title' | 'description' | 'group' | 'tier' | 'impact' | 'permission' | 'rare'> & {
  /** JSON Schema 2020-12 of the input. */
  readonly inputSchema: { readonly [key: string]: unknown };
};

/** Declares a tool. The widening is sound: the pipeline passes a handler only what this very `input` schema has parsed. */
export function defineTool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  return definition;
}

/** What a handler can do about plans. @throws {Fault} what the cluster or the store says */
export interface PlanDesk {
  /** Tries the steps, in their order, on a copy of the call's cluster as it is now: every policy, every check, the tools themselves. */
  rehearse(steps: readonly ProposedStep[], more?: { readonly undoes?: string; readonly cluster?: string }): Promise<Rehearsal>;
  /** Runs the call's own plan from now on, in the background of this process. Only with the grant of its request consumed. */
  start(): void;
  /** undefined: there is no such plan, or it is another user's. */
  progress(id: string): Promise<PlanProgress | undefined>;
}

export interface WakeResult {
  /** The way that worked. */
  readonly via: 'pve' | 'http' | 'packet';
  /** `sent` is all that can be known: a packet went out, the node is not awake yet. */
  readonly detail: string;
}

export interface Waker {
  /** Tries the configured ways in order. @throws {Fault} `wake_failed` with what each way said and what to do about it, `wake_not_configured`; `effect` says whether a packet may have left */
  wake(node: string, signal: AbortSignal): Promise<WakeResult>;
}

/** A block as an agent reports it; `destination` as it was written, a host, `host:port` or URL. */
export interface BlockReport extends ReportedBlock {
  /** Of the form `req-` + 8 hex digits; whoever calls has checked that. */
  readonly requestId: string;
}

export type ReportAnswer =
  /** A person has been asked, now or by the same report before. `destination` is canonical. */
  | { readonly kind: 'opened'; readonly record: RequestRecord; readonly destination: string }
  /** Settled in advance, so nobody is asked; `rule` says by what. */
  | { readonly kind: 'allowed' | 'blocked'; readonly destination: string; readonly rule: string }
  | { readonly kind: 'refused'; readonly why: 'invalid_destination' | 'id_taken' | 'too_many' | 'not_opened' };

export interface SecurityView {
  /** As it counts for this call. */
  readonly level: SecurityLevel;
  /** What scopes and windows say of this caller now, in words; empty: nothing. */
  limits(): Promise<readonly string[]>;
  /** State of `run_command`'s OS sandbox, tried where it has not been yet. */
  sandbox(): Promise<string>;
  /** Opens a request for a person; it grants no call, whatever the answer. Idempotent, capped per agent, audited. @throws {Fault} `store_…` */
  report(block: BlockReport): Promise<ReportAnswer>;
}
