/**
 * The other way to have an App: the service's, through this user's socket. Tools of the workspace run in this process, as this user, through the same
 * pipeline; their requests, grants and records are the service's. LIMIT: of those the service knows what this process tells it.
 */

import type { CallApprovals } from '#approval/approvals';
import { waitForDecision } from '#approval/wait-for-decision';
import { connectService, type RequestOptions, type ServiceLink } from '#connectors/service/service-link';
import { systemClock } from '#execution/deadline';
import { agentOfUser } from '#kernel/agent';
import type {
  App,
  Approvals,
  AttemptList,
  AuditTrail,
  CallRequest,
  Finding,
  PlanControls,
  SecuritySettings,
  SettingResult,
} from '#kernel/app';
import type { AnswerResult } from '#kernel/approval/answer';
import { requestIdPattern } from '#kernel/approval/request';
import { Fault, toFault } from '#kernel/errors';
import { effectData, type KnownEffect, notSent } from '#kernel/known-effect';
import type { LiveLists, ProtectedNames } from '#kernel/live';
import type { Outcome } from '#kernel/outcome';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import type { Store } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import type { SharedSettings } from '#kernel/wire';
import { announce } from './announce.ts';
import { attemptFindings, openFindings } from './attempts/attempts.ts';
import { allTools, catalog, describeTools } from './catalog.ts';
import type { Config } from './config/config.ts';
import { type LiveSettings, liveRules } from './config/live-settings.ts';
import { policySettings } from './config/policy-settings.ts';
import { unusedKeys } from './config/service-config.ts';
import { type AppOptions, createApp, type SharedParts } from './create-app.ts';
import { finding } from './finding.ts';
import { createReporting, fitReported } from './report-records.ts';

export interface RemoteOptions extends Omit<AppOptions, 'service' | 'clusterToken' | 'origin'> {
  /** This user's socket. */
  readonly socket: string;
}

/** Longer than any call of a tool may take, without the wait for a person. */
const callMs = 90_000;

/** @throws {Fault} `service_unavailable`, `service_version`; what the workspace says */
export async function connectApp({ socket, ...options }: RemoteOptions): Promise<App> {
  const link = await connectService({ socket, version: options.version });
  try {
    return await remoteApp(link, options);
  } catch (thrown) {
    link.close();
    throw thrown;
  }
}

async function remoteApp(link: ServiceLink, options: Omit<RemoteOptions, 'socket'>): Promise<App> {
  const ask = <T>(method: string, values: readonly unknown[] = [], more?: RequestOptions) =>
    link.request(method, values, more) as Promise<T>;
  const config = {
    ...options.config,
    clusters: [],
    workspace: { ...options.config.workspace, requireSandbox: options.config.workspace.requireSandbox || link.welcome.requireSandbox },
  };
  const approvals = remoteApprovals(link, ask);
  const store = remoteStore(link, ask, approvals);
  const live = remoteSettings(link, ask, { ...options, config });
  const shared: SharedParts = { store, live, approvals };
  const attempts: AttemptList = { list: () => ask('attempts.list'), seen: (call) => ask('attempts.seen', [call]) };
  const local = await createApp({ ...options, config, service: shared });
  return {
    get config() {
      const unused = unusedKeys(options.config);
      return { ...link.welcome.config, workspaceRoot: config.workspace.root, ...(unused.length === 0 ? {} : { unused }) };
    },
    tools: describeTools(),
    get securityLevel() {
      return link.welcome.level;
    },
    get isAway() {
      return !link.isUp();
    },
    get storeLocation() {
      return `${link.welcome.storeLocation} (the service's)`;
    },
    ...{ sandboxState: () => local.sandboxState(), runs: () => local.runs() },
    ...remoteCalls(link, ask, { local, live }),
    ...{ approvals, security: remoteSecurity(link, ask), audit: remoteTrail(ask) },
    ...{ live: remoteLists(link, ask), plans: remotePlans(link, ask), attempts, policy: remotePolicy(link, ask) },
    doctor: async (signal) => [
      ...[...(await openFindings(attempts)), ...(await serviceFindings(link, signal))],
      ...unusedFindings(options.config),
      ...(await local.doctor(signal)),
    ],
    // Pins and configuration are the service's, which no program of this account can write: only what came of calls is looked at.
    alarms: () => attemptFindings(attempts),
    close: async () => {
      await local.close();
      link.close();
    },
  };
}

function unusedFindings(config: Config): readonly Finding[] {
  const unused = unusedKeys(config).map((key) => `\`${key}\``);
  const message = say`${unused.join(', ')} of this user’s own settings or configuration file count for nothing: the service has its own`;
  const remedy = say`take them out, or ask root to set them for the service`;
  return unused.length === 0 ? [] : [finding('configuration', 'warning', message, remedy)];
}

type Ask = <T>(method: string, values?: readonly unknown[], more?: RequestOptions) => Promise<T>;

/** SECURITY: the whole trail, and what protects whom, is for whoever may read the service's own files. */
function remotePolicy({ welcome }: ServiceLink, ask: Ask): App['policy'] {
  const elsewhere = (): Promise<never> => {
    const next =
      'root replays there: `banksman policy replay --settings FILE --config /etc/banksman/config.json --state /var/lib/banksman`';
    return Promise.reject(new Fault('not_here', 'the service holds the settings and the trail', { audience: 'user', next }));
  };
  return { matrix: (agent) => ask('policy.matrix', [agentOfUser(welcome.user, agent)]), settings: elsewhere, replay: elsewhere };
}

/** JSON has no `undefined`. */
async function asked<T>(answer: Promise<T | null | undefined>): Promise<T | undefined> {
  return (await answer) ?? undefined;
}

const localTools: ReadonlySet<string> = new Set([...allTools.filter(({ group }) => group === 'workspace').map(({ name }) => name)]);

function isLocal(tool: string): boolean {
  return localTools.has(tool);
}

/** Each call where its tool runs. */
function remoteCalls(
  link: ServiceLink,
  ask: Ask,
  { local, live }: { readonly local: App; readonly live: LiveSettings },
): Pick<App, 'call' | 'runApproved' | 'whyNotHere' | 'announce' | 'explain'> {
  const ofUser = <C extends Pick<CallRequest, 'agent'>>(call: C): C => ({ ...call, agent: agentOfUser(link.welcome.user, call.agent) });
  return {
    call: (request) => (isLocal(request.tool) ? local.call(ofUser(request)) : callRemotely(request, link)),
    runApproved: async (id, run) => {
      try {
        const record = await local.approvals.get(id);
        if (record !== undefined && isLocal(record.action.tool))
          return await local.runApproved(id, { ...run, by: `user:${link.welcome.user}` });
        const restrict = run.restrict === undefined ? {} : { restrict: run.restrict };
        const { signal, onProgress } = run;
        return await ask<Outcome>('runApproved', [id, restrict], { signal, limitMs: callMs, onProgress });
      } catch (thrown) {
        return outcomeOf(thrown, true);
      }
    },
    whyNotHere: (record) => (isLocal(record.action.tool) ? local.whyNotHere(record) : asked(ask<string | null>('whyNotHere', [record.id]))),
    announce: (tool, input) => announce(tool, input, { tools: catalog, settings: { ...live.known(), securityLevel: link.welcome.level } }),
    explain: ({ tool, input, agent, restrict, level }) => {
      const as = { ...(restrict === undefined ? {} : { restrict }), ...(level === undefined ? {} : { level }) };
      const call = { tool, input: input ?? null, agent, ...as };
      return isLocal(tool) ? local.explain(ofUser(call)) : ask('explain', [call]);
    },
  };
}

async function callRemotely({ gate, onProgress, signal, ...call }: CallRequest, link: ServiceLink): Promise<Outcome> {
  const tool = catalog.find(({ name }) => name === call.tool);
  try {
    const { tool: name, input, agent, waitMs, restrict } = call;
    const values = [{ tool: name, input: input ?? null, agent, waitMs, ...(restrict === undefined ? {} : { restrict }) }];
    const onAsk = gate === undefined ? undefined : gate.ask.bind(gate);
    return (await link.request('call', values, { signal, limitMs: call.waitMs + callMs, onProgress, onAsk })) as Outcome;
  } catch (thrown) {
    return outcomeOf(signal.aborted && !(thrown instanceof Fault) ? cancelled : thrown, tool?.impact !== 'none');
  }
}

const cancelled = new Fault('cancelled', 'the caller cancelled', { audience: 'user' });

/** What is known where the service did not answer: nothing was sent, or it may have been done. */
function outcomeOf(thrown: unknown, changes: boolean): Outcome {
  const { code, message, next } = toFault(thrown);
  const isOpen = code === 'service_lost' && changes;
  const effect: KnownEffect = isOpen ? { state: 'sent' } : notSent;
  return {
    status: 'error',
    code,
    message: isOpen ? `${message}; whether the call took effect is not known` : message,
    next: isOpen
      ? 'it may have taken effect: once the service is back, look at the target and at `banksman audit tail` before calling again'
      : (next ?? 'try again'),
    ...(changes ? { effect: effectData(effect) } : {}),
  };
}

function remoteSecurity(link: ServiceLink, ask: Ask): SecuritySettings {
  return {
    level: () => ask('security.level'),
    rules: () => ask('security.rules'),
    setLevel: async () => notHere(link),
    setRule: async () => notHere(link),
    removeRule: async () => notHere(link),
    pause: (_by, reason) => ask('security.pause', [reason ?? null]),
    resume: async () => notHere(link),
    onChange: (listener) => link.onChange('security', listener),
  };
}

function notHere({ welcome }: ServiceLink): SettingResult {
  return { ok: false, code: 'not_here', message: `nothing was changed: ${welcome.config.answersAt ?? 'root sets this'}` };
}

function remoteApprovals(link: ServiceLink, ask: Ask): Approvals & CallApprovals {
  const elsewhere = (): Fault =>
    new Fault('answered_elsewhere', say`this is not decided here: ${link.welcome.config.answersAt ?? 'ask root'}`, { audience: 'user' });
  const ofId = <T>(method: string, id: string, ...more: unknown[]) =>
    requestIdPattern.test(id) ? asked(ask<T | null>(method, [id, ...more])) : Promise.resolve(undefined);
  const approvals: Approvals & CallApprovals = {
    list: (query) => ask('approvals.list', [query]),
    get: (id) => ofId('approvals.get', id),
    countPending: () => ask('approvals.countPending'),
    onChange: (listener) => link.onChange('requests', listener),
    card: (id) => ofId('approvals.card', id),
    approve: async (id): Promise<AnswerResult> => ({
      ok: false,
      code: 'not_here',
      message: `request ${id} is not approved: ${elsewhere().message}`,
    }),
    deny: (id, _by, message) => ask('approvals.deny', [id, message ?? null]),
    revoke: (id, _by, message) => ask('approvals.revoke', [id, message ?? null]),
    cancel: async (id) => void (await ask('approvals.cancel', [id])),
    // No key of this account counts, so nobody is asked to trust one first: `approve` says where people answer.
    isTrusted: async () => true,
    trust: async () => Promise.reject(elsewhere()),
    open: (draft) => ask('records.open', [draft]),
    consume: (id, digest, by) => ask('records.consume', [id, digest, by]),
    waitForDecision: (id, wait) =>
      waitForDecision(id, wait, {
        clock: systemClock,
        requests: {
          get: approvals.get,
          onChange: approvals.onChange,
          noteWait: async (request, by, forMs) => void (await ask('records.noteWait', [request, by, forMs])),
        },
      }),
  };
  return approvals;
}

const never = async (): Promise<never> => Promise.reject(new Fault('not_here', 'only the service does this', { audience: 'bug' }));

function remoteStore(link: ServiceLink, ask: Ask, approvals: Approvals & CallApprovals): Store {
  const append = createReporting((drafts) => ask('records.append', [drafts]));
  return {
    location: link.welcome.storeLocation,
    requests: {
      ...{
        open: approvals.open,
        get: approvals.get,
        list: approvals.list,
        countPending: approvals.countPending,
        onChange: approvals.onChange,
      },
      countApproved: async () => 0,
      waitOf: (id) => asked(ask('records.waitOf', [id])),
      noteWait: async (id, by, forMs) => void (await ask('records.noteWait', [id, by, forMs])),
      cancel: async (id, by) => {
        await approvals.cancel(id, by);
        const record = await approvals.get(id);
        return record === undefined ? { ok: false, why: 'not_found' } : { ok: true, record };
      },
      ...{ identity: never, advanceCounter: never, approve: never, deny: never, revoke: never, consume: never },
    },
    audit: {
      append: async (draft) => {
        await append([draft]);
        // The service seals it; nobody here asks for the record.
        return { version: 1, sequence: 0, time: new Date().toISOString(), previous: '', hash: '', ...draft };
      },
      appendAll: append,
      read: never,
      ofRequest: (id, since) => ask('records.ofRequest', [id, since]),
      // Budgets are of clusters, and the service counts them; it ends what has no end, too.
      ...{
        changesSince: async () => [],
        attempts: async () => [],
        endAttempt: (draft) => ask('records.endAttempt', [fitReported(draft)]),
      },
      head: () => asked(ask('audit.head')),
    },
    security: noSecurity(link),
    close: async () => undefined,
  };
}

/** What people set is the service's: what counts here comes with `records.settings`. */
function noSecurity(link: ServiceLink): Store['security'] {
  return {
    level: async () => undefined,
    rules: async () => [],
    pause: async () => undefined,
    onChange: (listener) => link.onChange('security', listener),
    ...{ setLevel: never, setRule: never, removeRule: never, setPause: never, liftPause: never },
  };
}

/** The service's level, rules and tiers; the workspace's own part is this user's. */
function remoteSettings(link: ServiceLink, ask: Ask, { config, version }: Pick<AppOptions, 'config' | 'version'>): LiveSettings {
  let known = policySettings({ ...config, securityLevel: 'strict' }, version);
  return {
    known: () => known,
    now: async () => {
      try {
        const { level, unavailable, tiers, rules, paused } = await ask<SharedSettings>('records.settings');
        const counting = liveRules(rules.map(({ pattern, action }) => ({ pattern, counts: action })));
        const settings = policySettings({ ...config, securityLevel: level, tiers }, version);
        known = {
          ...{ ...settings, rules: async () => counting },
          ...(unavailable === undefined ? {} : { unavailable }),
          ...(paused === undefined ? {} : { paused }),
        };
      } catch (thrown) {
        // SECURITY: what cannot be read may have been stricter than anything.
        known = { ...policySettings({ ...config, securityLevel: 'strict' }, version), unavailable: toFault(thrown).message };
      }
      return known;
    },
    security: remoteSecurity(link, ask),
  };
}

function remoteTrail(ask: Ask): AuditTrail {
  return {
    tail: (count) => ask('audit.tail', [Math.min(count, 1_000)]),
    verify: (seen) => ask('audit.verify', [seen ?? null], { limitMs: 600_000 }),
    compare: (seen) => ask('audit.compare', [seen], { limitMs: 600_000 }),
    ...{ head: () => asked(ask('audit.head')), continues: (seen) => ask('audit.continues', [seen]) },
    ...{ checkpoint: () => ask('audit.checkpoint'), prove: (record) => ask('audit.prove', [record]) },
    ...{ proveSince: (seen) => ask('audit.proveSince', [seen]), witness: never },
  };
}

function remotePlans(link: ServiceLink, ask: Ask): PlanControls {
  return {
    list: () => ask('plans.list'),
    underWay: () => ask('plans.underWay'),
    resume: async () => notHere(link),
    get: (id) => (requestIdPattern.test(id) ? asked(ask<PlanProgress | null>('plans.get', [id])) : Promise.resolve(undefined)),
    control: (id, control) => ask('plans.control', [id, control]),
    snapshots: () => ask('plans.snapshots'),
    without: (id, steps) => ask('plans.without', [id, steps], { limitMs: 2 * callMs }),
  };
}

function remoteLists(link: ServiceLink, ask: Ask): LiveLists {
  return {
    get clusters() {
      return link.welcome.clusters;
    },
    nodes: (cluster, signal) => ask('live.nodes', [cluster], { signal }),
    guests: (cluster, signal) => ask('live.guests', [cluster], { signal }),
    protectedNames: async (cluster, signal): Promise<ProtectedNames> => {
      const { guests, nodes } = await ask<{ guests: [number, string][]; nodes: [string, string][] }>('live.protectedNames', [cluster], {
        signal,
      });
      return { guests: new Map(guests), nodes: new Map(nodes) };
    },
    overview: (cluster, signal) => ask('live.overview', [cluster], { signal }),
    guest: (cluster, { vmid, node, guestType }, signal) => ask('live.guest', [cluster, { vmid, node, guestType }], { signal }),
    task: (cluster, upid, signal) => ask('live.task', [cluster, upid], { signal }),
    facts: ({ targets }, signal) => ask('live.facts', [targets], { signal }),
  };
}

async function serviceFindings(link: ServiceLink, signal: AbortSignal) {
  try {
    const found = (await link.request('doctor', [], { signal })) as Awaited<ReturnType<App['doctor']>>;
    const { version, user } = link.welcome;
    return [
      finding('service', 'ok', say`version ${version} answers; it knows this user as ${user}`),
      ...found.filter(({ topic }) => topic !== 'sandbox'),
    ];
  } catch (thrown) {
    const { message, next, words } = toFault(thrown);
    return [finding('service', 'failed', words.message ?? message, words.next ?? next)];
  }
}
