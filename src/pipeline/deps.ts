/** What the pipeline needs, handed in by `app/`. */

import type { CallApprovals } from '#approval/approvals';
import type { Standing } from '#identity/standing';
import type { CallRequest } from '#kernel/app';
import type { Pause } from '#kernel/approval/security';
import type { AttemptStanding, ProcessMark } from '#kernel/attempt';
import type { AuditDraft } from '#kernel/audit-event';
import type { Decision } from '#kernel/decision';
import type { HeldChanges } from '#kernel/effects';
import type { GuestCondition } from '#kernel/guest-condition';
import type { JsonObject } from '#kernel/json';
import type { Foretold, Plan, ProposedStep, Rehearsal } from '#kernel/plans/plan';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Clock } from '#kernel/ports/clock';
import type { Asker, ClusterPort } from '#kernel/ports/cluster';
import type { SandboxStatus } from '#kernel/ports/command-runner';
import type { LiveWanted } from '#kernel/ports/live-reads';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';
import type { CommandResource, PathUse } from '#kernel/resource';
import type { ActionTier, SecurityLevel } from '#kernel/tiers';
import type { ClusterAccess, Tool, WorkspaceAccess } from '#kernel/tool';
import type { LiveRule } from '#policy/auto-approve';
import type { Role } from '#policy/blast/roles';
import type { RememberedTags, TagsOfGuests } from '#policy/deciding-tags';
import type { NodeAliases, ProtectedList } from '#policy/protected-resources';
import type { Scope } from '#policy/scopes/scopes';
import type { TimeWindow } from '#policy/scopes/windows';
import type { CommandDecision } from '#policy/ssh/decide-ssh-command';

/** One configured cluster, with the other names its nodes have in configuration. */
export interface ConfiguredCluster {
  readonly access: ClusterAccess;
  /** Its API, asked on somebody's behalf. Absent: it is asked as it is, by everybody. */
  askedBy?(asker: Asker): ClusterPort;
  readonly aliases: NodeAliases;
  /** Absent: nothing is remembered of tags. */
  readonly tags?: TagMemory;
  /** A copy in memory of the cluster as it is now. Absent: plans cannot be rehearsed. @throws {Fault} when it cannot be read */
  copy?(wanted: LiveWanted, signal: AbortSignal): Promise<ClusterCopy>;
}

/** What is done to it is done nowhere else, and its time passes at once. */
export interface ClusterCopy {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  /** Lets its time pass until no task runs. */
  settle(): void;
}

/**
 * Which guests bore a tag that protects, or that a window, role or scope goes by, over restarts: taken away it counts on until a person agrees, and
 * one that puts its guest into a scope counts not before that.
 */
export interface TagMemory {
  /** Those that windows, roles and scopes go by. */
  readonly selecting: ReadonlySet<string>;
  /**
   * Remembers `bearers`, and gives every guest that was ever seen with such a tag, with all of them. @throws {Fault} where it cannot be read or kept
   */
  remember(bearers: TagsOfGuests, seen: ReadonlySet<number>): Promise<RememberedTags>;
  /** A guest that an agent makes with a person's approval: said before, and how it ended. Made well it is in the scopes that go by its tags. */
  making(made: MadeGuest, how: Making): Promise<void>;
}

export interface MadeGuest {
  readonly vmid: number;
  /** That it has from what it is made of, with a person's consent. */
  readonly tags: readonly string[];
}

/** What begins and never ends is not known to be made. */
export type Making = 'begins' | 'made' | 'failed';

/** What decides, at one moment: the configuration, and what people have set in the store. */
export interface PolicySettings {
  /** The one that counts now. */
  readonly securityLevel: SecurityLevel;
  /** Why the level that people set cannot be read; `securityLevel` is then the strictest, and stands for nothing that anybody chose. */
  readonly unavailable?: string;
  /**
   * People's auto-approve rules that count now; asked for only where one could count. They stand in no digest: they are applied again to
   * what is about to run. @throws {Fault} `store_…`: a rule that cannot be read may be one that blocks
   */
  rules(): Promise<readonly LiveRule[]>;
  /** Agents change nothing now. */
  readonly paused?: Pause;
  readonly protectedList: ProtectedList;
  readonly roles: readonly Role[];
  readonly scopes: readonly Scope[];
  readonly windows: readonly TimeWindow[];
  /** Configured tiers; they only make a tool stricter. */
  readonly tiers: Readonly<Record<string, ActionTier>>;
  /** Commands in the workspace are refused, not asked about, where the OS sandbox is not enforced. */
  readonly requireSandbox: boolean;
  /** The command policy of cluster nodes. `canonical` is what runs. */
  decideSsh(text: string): Promise<CommandDecision>;
  /** Changes whenever a decision could: it is part of every digest. */
  readonly version: string;
}

/** The workspace's policies, about what is there at this moment. */
export interface WorkspaceJudge {
  /** What runs is the text as it is. */
  decideCommand(command: CommandResource): Promise<Decision>;
  /** The decision, and what the path is after links where it is inside. @param of whose `/tmp` it would be */
  decidePath(
    path: string,
    use: PathUse,
    of: { readonly agentId: string } | 'machine',
  ): Promise<{ readonly decision: Decision; readonly real?: string }>;
  sandbox(): Promise<SandboxStatus>;
  /** What waits for a person in this workspace; undefined: nothing of that name (any more). */
  held(id: string): Promise<HeldChanges | undefined>;
}

export interface PipelineDeps {
  readonly tools: readonly Tool[];
  readonly clusters: ReadonlyMap<string, ConfiguredCluster>;
  /** Read anew for each call, and again when an approval is consumed. Must not reject: what cannot be read counts as the strictest. */
  settings(): Promise<PolicySettings>;
  /** Absent where there is no workspace. */
  readonly workspace?: WorkspaceAccess;
  /** Which directory on which machine it is, for people and for the digest; absent where there is none. */
  readonly workspacePlace?: string;
  readonly judge?: WorkspaceJudge;
  readonly approvals: CallApprovals;
  /** This process, for the record of a consumed grant. */
  readonly consumer: string;
  /** The same for the record of what begins, so that others can tell whether it lives. Absent: they go by the call's time alone. */
  readonly process?: ProcessMark;
  /** Keeps the record of a call that began, where the trail does not take it, until it does. Absent: it is lost. @throws {Fault} where it cannot be kept either */
  keepOutcome?(draft: AuditDraft): Promise<void>;
  /** Told of the calls whose beginning is written down. Each must return at once. */
  readonly ownCalls?: {
    begins(call: string): void;
    /** `draft` was written, or is kept. */
    ends(call: string, draft: AuditDraft): void;
    /** The record of its beginning was refused, so it did not run; it may be in the trail all the same, where its answer was lost. */
    notBegun(call: string): void;
  };
  /** How a call stands that began and has no end; looked at now. Absent: nobody looks. Must not reject. */
  attemptNow?(call: string): Promise<AttemptStanding | undefined>;
  readonly requests: Pick<RequestStore, 'get' | 'list' | 'countPending' | 'countApproved'>;
  readonly audit: AuditLog;
  /** Where a read's record goes: durable at once, or with others within 50 ms. @throws {Fault} `audit_unavailable` */
  noteRead(draft: AuditDraft): Promise<void>;
  /** Told of a task that goes on after its call, with what its end's record says of the call. Must return at once. */
  followTask?(task: { readonly api: ClusterPort; readonly upid: string; readonly attributes: JsonObject }): void;
  /** How long each stage took is written down, too: a sink wants spans. */
  readonly timesStages?: boolean;
  /** Absent: nobody's tier is ever lowered. */
  readonly standing?: Standing;
  /** Absent: there are no plans. */
  readonly plans?: PlanParts;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: { readonly callMs: number; readonly slowMs: number };
  /** Exact secrets in use, to be redacted wherever they appear. */
  knownSecrets(): readonly string[];
  /** OS sandbox state, for every audit record. */
  sandboxState(): string;
}

/** What the app does about plans for a call. */
export interface PlanParts {
  rehearse(
    steps: readonly ProposedStep[],
    of: { readonly call: IncomingCall; readonly cluster: string; readonly undoes?: string; readonly signal: AbortSignal },
  ): Promise<Rehearsal>;
  /** From now on, in the background. */
  start(begun: PlanStart): void;
  progress(id: string): Promise<PlanProgress | undefined>;
}

/** A plan whose grant has just been consumed. SECURITY: the plan is what was digested for that, and never read from a store again. */
export interface PlanStart {
  readonly requestId: string;
  readonly plan: Plan;
  /** The guests as they were approved. */
  readonly before: readonly GuestCondition[];
  readonly policyVersion: string;
  readonly call: IncomingCall;
}

/** What lets one step of an approved plan run. SECURITY: made only where the plan's grant was consumed, and never stored. */
export interface StepGrant {
  /** The plan's request. */
  readonly plan: string;
  /** From 1. */
  readonly number: number;
  readonly input: JsonObject;
  readonly targets: readonly JsonObject[];
  readonly before: readonly Foretold[];
  /** Digests of configurations as they were approved, or left by the step before. */
  readonly digests: ReadonlyMap<number, string>;
  readonly policyVersion: string;
  /** Gives the right to run once; else says why there is none. */
  consume(): Promise<{ readonly code: string; readonly message: string } | undefined>;
}

/** The same for one call: its settings are those of its beginning. */
export interface CallDeps extends Omit<PipelineDeps, 'settings'> {
  readonly settings: PolicySettings;
  currentSettings(): Promise<PolicySettings>;
}

/** What deciding needs of them: a call that was recorded is decided with these alone. */
export type DecidingDeps = Pick<CallDeps, 'tools' | 'clusters' | 'settings' | 'judge' | 'clock'> & {
  readonly audit: Pick<AuditLog, 'changesSince'>;
};

/** One call as it goes through the pipeline. SECURITY: what is added here no host says of its own call. */
export interface IncomingCall extends CallRequest {
  /** A person runs an approved request's call, by hand, in the agent's place: on the grant of that request or not at all. */
  readonly byHand?: { readonly requestId: string; readonly by: string };
  /** Not the caller's own words: an earlier call's answer asked for it. */
  readonly internal?: true;
  /** An approved plan's own step: on the plan's grant. */
  readonly step?: StepGrant;
  /** On the grant of this request or not at all: no new question is asked. */
  readonly onGrantOf?: string;
}

/** The pipeline's parts for one call: with the settings of this moment. */
export async function withSettings(deps: PipelineDeps): Promise<CallDeps> {
  const { settings, ...rest } = deps;
  const currentSettings = () => settings();
  return { ...rest, settings: await currentSettings(), currentSettings };
}

/** The clusters as this call asks them. */
export function clustersFor(asker: Asker, clusters: PipelineDeps['clusters']): PipelineDeps['clusters'] {
  return new Map([...clusters].map(([name, configured]) => [name, clusterFor(asker, configured)]));
}

/** Made when it is first asked: most calls ask one cluster of many, or none. */
function clusterFor(asker: Asker, configured: ConfiguredCluster): ConfiguredCluster {
  const { askedBy } = configured;
  if (askedBy === undefined) return configured;
  let access: ClusterAccess | undefined;
  return {
    ...configured,
    get access() {
      access ??= { ...configured.access, api: askedBy(asker) };
      return access;
    },
  };
}
