/** What the pipeline needs, handed in by `app/`. */

import type { CallApprovals } from '#approval/approvals';
import type { Standing } from '#identity/standing';
import type { CallRequest } from '#kernel/app';
import type { Pause } from '#kernel/approval/security';
import type { AuditDraft } from '#kernel/audit-event';
import type { Decision } from '#kernel/decision';
import type { HeldChanges } from '#kernel/effects';
import type { JsonObject } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Clock } from '#kernel/ports/clock';
import type { ClusterPort } from '#kernel/ports/cluster';
import type { SandboxStatus } from '#kernel/ports/command-runner';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';
import type { CommandResource, PathUse } from '#kernel/resource';
import type { ActionTier, SecurityLevel } from '#kernel/tiers';
import type { ClusterAccess, Tool, WorkspaceAccess } from '#kernel/tool';
import type { LiveRule } from '#policy/auto-approve';
import type { NodeAliases, ProtectedList } from '#policy/protected-resources';
import type { Scope } from '#policy/scopes/scopes';
import type { TimeWindow } from '#policy/scopes/windows';
import type { CommandDecision } from '#policy/ssh/decide-ssh-command';

/** One configured cluster, with the other names its nodes have in configuration. */
export interface ConfiguredCluster {
  readonly access: ClusterAccess;
  readonly aliases: NodeAliases;
  /** Absent: nothing is remembered of tags. */
  readonly tags?: TagMemory;
}

/** Which guests bore a protecting tag, over restarts: a tag that somebody takes away protects on until a person agrees. */
export interface TagMemory {
  /**
   * Remembers `bearers`, and gives every guest that was ever seen with a tag of `tags`, with that tag. @throws {Fault} where it cannot be read or kept
   */
  remember(bearers: ReadonlyMap<number, string>, seen: ReadonlySet<number>): Promise<ReadonlyMap<number, string>>;
}

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
  readonly scopes: readonly Scope[];
  readonly windows: readonly TimeWindow[];
  /** Configured tiers; they only make a tool stricter. */
  readonly tiers: Readonly<Record<string, ActionTier>>;
  /** Commands in the workspace are refused, not asked about, where the OS sandbox is not enforced. */
  readonly requireSandbox: boolean;
  /** The command policy of cluster nodes. `canonical` is what runs. */
  decideSsh(text: string): CommandDecision;
  /** Changes whenever a decision could: it is part of every digest. */
  readonly version: string;
}

/** The workspace's policies, about what is there at this moment. */
export interface WorkspaceJudge {
  /** What runs is the text as it is. */
  decideCommand(command: CommandResource): Promise<Decision>;
  /** The decision, and what the path is after links where it is inside. */
  decidePath(path: string, use: PathUse, agentId: string): Promise<{ readonly decision: Decision; readonly real?: string }>;
  sandbox(): Promise<SandboxStatus>;
  /** What waits for a person in this workspace; undefined: nothing of that name (any more). */
  held(id: string): Promise<HeldChanges | undefined>;
}

export interface PipelineDeps {
  readonly tools: readonly Tool[];
  readonly clusters: ReadonlyMap<string, ConfiguredCluster>;
  /** Read anew for each call, and again when an approval is spent. Must not reject: what cannot be read counts as the strictest. */
  settings(): Promise<PolicySettings>;
  /** Absent where there is no workspace. */
  readonly workspace?: WorkspaceAccess;
  /** Which directory on which machine it is, for people and for the digest; absent where there is none. */
  readonly workspacePlace?: string;
  readonly judge?: WorkspaceJudge;
  readonly approvals: CallApprovals;
  /** This process, for the record of a spent grant. */
  readonly spender: string;
  readonly requests: Pick<RequestStore, 'get' | 'list' | 'countPending' | 'countApproved'>;
  readonly audit: AuditLog;
  /** Where a read's record goes: durable at once, or with others within 50 ms. @throws {Fault} `audit_unavailable` */
  noteRead(draft: AuditDraft): Promise<void>;
  /** Told of a task that goes on after its call, with what its end's record says of the call. Must return at once. */
  followTask?(task: { readonly api: ClusterPort; readonly upid: string; readonly attributes: JsonObject }): void;
  /** Absent: nobody's tier is ever lowered. */
  readonly standing?: Standing;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: { readonly callMs: number; readonly slowMs: number };
  /** Exact secrets in use, to be redacted wherever they appear. */
  knownSecrets(): readonly string[];
  /** OS sandbox state, for every audit record. */
  sandboxState(): string;
}

/** The same for one call: its settings are those of its beginning. */
export interface CallDeps extends Omit<PipelineDeps, 'settings'> {
  readonly settings: PolicySettings;
  currentSettings(): Promise<PolicySettings>;
}

/** One call as it goes through the pipeline. SECURITY: what is added here no host says of its own call. */
export interface IncomingCall extends CallRequest {
  /** A person runs an approved request's call, by hand, in the agent's place: on the grant of that request or not at all. */
  readonly byHand?: { readonly requestId: string; readonly by: string };
  /** Not the caller's own words: an earlier call's answer asked for it. */
  readonly internal?: true;
}

/** The pipeline's parts for one call: with the settings of this moment. */
export async function withSettings(deps: PipelineDeps): Promise<CallDeps> {
  const { settings, ...rest } = deps;
  const currentSettings = () => settings();
  return { ...rest, settings: await currentSettings(), currentSettings };
}
