/** What a user's socket can do. SECURITY: nothing here approves, trusts, or sets a level or a rule; whose request it is stands in its id. */
import { isIntact, type LocalApp } from '#app/for-service';
import { agentOfUser, osUserOf } from '#kernel/agent';
import type { CallRequest, RecordProof } from '#kernel/app';
import type { AnswerResult } from '#kernel/approval/answer';
import type { RequestRecord } from '#kernel/approval/request';
import { requestParts } from '#kernel/approval/request-schema';
import { unknownTopic } from '#kernel/attempt';
import { type AuditDraft, type AuditEventName, type AuditRecord, mostAttributes } from '#kernel/audit-event';
import { applyHeldTool } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { agentsIn, isRecordOfUser, requestsOfUser } from '#kernel/of-user';
import type { Outcome } from '#kernel/outcome';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import type { PolicyMatrix } from '#kernel/policy-view';
import type { WireMethod, WireValues } from '#kernel/wire';

/** One call of one user. */
export interface Caller {
  readonly user: string;
  readonly signal: AbortSignal;
  readonly progress: (message: string) => void;
  readonly ask: CallRequest['gate'];
}

type Methods = { readonly [M in WireMethod]: (values: WireValues<M>, caller: Caller) => Promise<unknown> };

const recordsAtOnce = 1_000;

export function createMethods(app: LocalApp): Methods {
  const own = ownRequests(app);
  return {
    ...callMethods(app, own),
    ...approvalMethods(app, own),
    ...readMethods(app),
    ...planMethods(app, own),
    ...attemptMethods(app),
    ...recordMethods(app, own),
  };
}

type Own = (id: string, caller: Caller) => Promise<RequestRecord>;
type Of<Prefix extends string> = Pick<Methods, Extract<WireMethod, `${Prefix}.${string}`>>;

function ownRequests({ approvals }: LocalApp): Own {
  return async (id, { user }) => {
    const record = await requestsOfUser(approvals, user).get(id);
    // One answer for another user's and for none: whether there is one is not theirs to know.
    if (record === undefined) throw new Fault('not_found', `there is no request ${id} of yours`, { audience: 'user' });
    return plain(record);
  };
}

function callMethods(
  app: LocalApp,
  own: Own,
): Pick<Methods, 'call' | 'runApproved' | 'explain' | 'policy.matrix' | 'whyNotHere' | 'doctor'> {
  return {
    call: async ([{ input, agent, ...call }], { user, signal, progress, ask }) =>
      isLocalTool(app, call.tool)
        ? runsWithTheUser(call.tool)
        : app.call({
            ...call,
            input,
            agent: agentOfUser(user, agent),
            signal,
            onProgress: progress,
            ...(ask === undefined ? {} : { gate: ask }),
          }),
    runApproved: async ([id, { restrict }], caller) => {
      await own(id, caller);
      const { user, signal, progress } = caller;
      return app.runApproved(id, { by: `user:${user}`, signal, onProgress: progress, ...(restrict === undefined ? {} : { restrict }) });
    },
    explain: ([{ input, agent, ...call }], { user }) => app.explain({ ...call, input, agent: agentOfUser(user, agent) }),
    'policy.matrix': async ([agent], { user }) => withOwnScopes(await app.policy.matrix(agentOfUser(user, agent))),
    whyNotHere: async ([id], caller) => app.whyNotHere(await own(id, caller)),
    doctor: async (_none, { signal }) => (await app.doctor(signal)).filter(({ topic }) => topic !== unknownTopic),
  };
}

function approvalMethods(app: LocalApp, own: Own): Of<'approvals'> {
  const { approvals } = app;
  const ownOrNone = (id: string, caller: Caller) => own(id, caller).catch(noneIfNotFound);
  return {
    'approvals.list': async ([query], { user }) => {
      const page = await requestsOfUser(approvals, user).list(query);
      return { ...page, records: page.records.map(plain) };
    },
    'approvals.get': ([id], caller) => ownOrNone(id, caller),
    'approvals.countPending': (_none, { user }) => requestsOfUser(approvals, user).countPending(),
    'approvals.card': async ([id], caller) => {
      if ((await ownOrNone(id, caller)) === undefined) return undefined;
      const card = await approvals.card(id, 'pattern');
      return card && { ...card, record: plain(card.record) };
    },
    'approvals.deny': async ([id, message], caller) => {
      await own(id, caller);
      return plainAnswer(await approvals.deny(id, `user:${caller.user}`, message ?? undefined));
    },
    'approvals.revoke': async ([id, message], caller) => {
      await own(id, caller);
      return plainAnswer(await approvals.revoke(id, `user:${caller.user}`, message ?? undefined));
    },
    'approvals.cancel': async ([id], caller) => {
      await own(id, caller);
      await approvals.cancel(id, `user:${caller.user}`);
    },
  };
}

function planMethods({ plans }: LocalApp, own: Own): Of<'plans'> {
  const ownOf = async (all: readonly PlanProgress[], caller: Caller) => {
    const mine = await Promise.all(all.map(({ id }) => own(id, caller).catch(noneIfNotFound)));
    return all.filter((_, index) => mine[index] !== undefined);
  };
  return {
    'plans.list': async (_none, caller) => ownOf(await plans.list(), caller),
    'plans.underWay': async (_none, caller) => ownOf(await plans.underWay(), caller),
    'plans.get': async ([id], caller) => ((await own(id, caller).catch(noneIfNotFound)) === undefined ? undefined : plans.get(id)),
    // Names of guests and snapshots of the cluster, as get_guest has them for every user.
    'plans.snapshots': () => plans.snapshots(),
    'plans.control': async ([id, control], caller) => {
      await own(id, caller);
      return plans.control(id, control, `user:${caller.user}`);
    },
    'plans.without': async ([id, steps], caller) => {
      await own(id, caller);
      return plans.without(id, steps, `user:${caller.user}`);
    },
  };
}

function attemptMethods({ attempts }: LocalApp): Of<'attempts'> {
  const ofUser = async (user: string) => (await attempts.list()).filter(({ agent }) => osUserOf(agent) === user);
  return {
    'attempts.list': (_none, { user }) => ofUser(user),
    'attempts.seen': async ([call], { user }) => {
      // One answer for another user's and for none.
      if (!(await ofUser(user)).some((attempt) => attempt.call === call)) return { ok: false, message: 'there is no such call of yours' };
      return attempts.seen(call, `user:${user}`);
    },
  };
}

function readMethods(app: LocalApp): Of<'security' | 'audit' | 'live'> {
  const { audit, live, security } = app;
  return {
    'security.level': () => security.level(),
    'security.rules': () => security.rules(),
    'security.pause': ([reason], { user }) => security.pause(`user:${user}`, reason ?? undefined),
    'audit.tail': ([count], { user }) => ownTail(app, count, user),
    'audit.verify': ([seen]) => audit.verify(seen ?? undefined),
    'audit.compare': ([seen]) => audit.compare(seen),
    'audit.head': () => audit.head(),
    'audit.continues': ([seen]) => audit.continues(seen),
    'audit.checkpoint': () => audit.checkpoint(),
    'audit.prove': async ([record], { user }) => ownProof(await audit.prove(record), user),
    'audit.proveSince': ([seen]) => audit.proveSince(seen),
    'live.nodes': ([cluster], { signal }) => live.nodes(cluster, signal),
    'live.guests': ([cluster], { signal }) => live.guests(cluster, signal),
    'live.protectedNames': async ([cluster], { signal }) => {
      const { guests, nodes } = await live.protectedNames(cluster, signal);
      return { guests: [...guests], nodes: [...nodes] };
    },
    'live.overview': ([cluster], { signal }) => live.overview(cluster, signal),
    'live.guest': ([cluster, guest], { signal }) => live.guest(cluster, guest, signal),
    'live.task': ([cluster, upid], { signal }) => live.task(cluster, upid, signal),
    'live.facts': ([targets], { signal }) => live.facts({ targets }, signal),
  };
}

/** For the tools that run in the user's own process. */
function recordMethods(app: LocalApp, own: Own): Of<'records'> {
  const { records } = app;
  const here = async (id: string, caller: Caller): Promise<void> => {
    const { action } = await own(id, caller);
    if (!isLocalTool(app, action.tool)) throw notLocal(action.tool);
  };
  /** SECURITY: a request that a record names is the caller's own, and for the same tool: what is told of a cluster's call is the service's alone. */
  const mayName = async ({ request_id: id, 'gen_ai.tool.name': tool }: JsonObject, caller: Caller): Promise<void> => {
    if (id === undefined) return;
    if (typeof id !== 'string' || (await own(id, caller)).action.tool !== tool) throw notYours();
  };
  return {
    'records.settings': () => records.settings(),
    'records.open': ([raw], { user }) => {
      const draft = requestParts.draft(raw);
      if (draft === undefined) throw new Fault('invalid_input', 'this is no request', { audience: 'bug' });
      if (!isLocalTool(app, draft.action.tool) || draft.reported !== undefined || draft.reportId !== undefined)
        throw notLocal(draft.action.tool);
      if (osUserOf(draft.agent.id) !== user || !isIntact(draft)) throw notYours();
      return records.open(draft);
    },
    'records.consume': async ([id, digest, by], caller) => {
      await here(id, caller);
      return records.consume(id, digest, `${caller.user}: ${by}`);
    },
    'records.noteWait': async ([id, by, forMs], caller) => {
      await here(id, caller);
      await records.noteWait(id, `${caller.user}: ${by}`, forMs);
    },
    'records.waitOf': async ([id], caller) => {
      await own(id, caller);
      return records.waitOf(id);
    },
    'records.append': async ([drafts], caller) => {
      const marked = drafts.map((draft) => markReported(app, draft, caller.user));
      for (const { attributes } of marked) await mayName(attributes, caller);
      await records.append(marked);
    },
    'records.endAttempt': async ([draft], caller) => {
      const marked = markReported(app, draft, caller.user);
      await mayName(marked.attributes, caller);
      return records.endAttempt(marked);
    },
    'records.ofRequest': async ([id, since], caller) => {
      await own(id, caller);
      return records.ofRequest(id, since);
    },
  };
}

/** SECURITY: what a detector matched is for people, and this answer goes to the account that agents run in. */
function plain(record: RequestRecord): RequestRecord {
  if (record.reported === undefined) return record;
  const { pattern: _people, ...rest } = record.reported;
  return { ...record, reported: rest };
}

function plainAnswer<Answer extends AnswerResult>(answer: Answer): Answer {
  return 'record' in answer && answer.record !== undefined ? { ...answer, record: plain(answer.record) } : answer;
}

function noneIfNotFound(thrown: unknown): undefined {
  if (thrown instanceof Fault && thrown.code === 'not_found') return undefined;
  throw thrown;
}

function isLocalTool({ tools }: LocalApp, name: string): boolean {
  return name === applyHeldTool || tools.find((tool) => tool.name === name)?.group === 'workspace';
}

function notLocal(tool: string): Fault {
  return new Fault('not_here', `\`${tool.slice(0, 100)}\` is no tool of a workspace: the service asks and consumes for it itself`, {
    audience: 'bug',
  });
}

function notYours(): Fault {
  return new Fault('not_yours', 'this is in the name of another user, or not what its digest says', { audience: 'bug' });
}

function runsWithTheUser(tool: string): Outcome {
  const next = 'call it through the editor, `banksman mcp` or `banksman call`';
  return {
    status: 'error',
    code: 'not_here',
    message: `\`${tool}\` runs in the user's own process, not in the service; nothing was done`,
    next,
  };
}

/** The newest of the caller's own, oldest first; of others not even that there are any. */
async function ownTail({ audit }: LocalApp, count: number, user: string): Promise<readonly AuditRecord[]> {
  if (count === 0) return [];
  for (let size = count; ; size *= 4) {
    const records = await audit.tail(Math.min(size, recordsAtOnce));
    const own = records.filter((record) => isRecordOfUser(record, user));
    if (own.length >= count || records.length < size || size >= recordsAtOnce) return own.slice(-count);
  }
}

/** SECURITY: of another user's record, or one that has left, nothing but its hash. */
function ownProof({ record, ...proof }: RecordProof, user: string): RecordProof {
  const isOwn = record !== undefined && isRecordOfUser(JSON.parse(record) as AuditRecord, user);
  return isOwn ? { ...proof, record } : proof;
}

const reportedNames: ReadonlySet<AuditEventName> = new Set([
  'tool.started',
  'tool.finished',
  'tool.denied',
  'run.undone',
  'standing.changed',
]);
/** Clients cut what they send to half of this. In UTF-16 code units. */
const mostRecordText = 64 * 1024;

/** What a user's own process says that it did. SECURITY: of its own tools and agents alone, and marked as said by it. */
function markReported(app: LocalApp, { name, attributes }: AuditDraft, user: string): AuditDraft {
  const tool = attributes['gen_ai.tool.name'];
  const ofTool = tool === undefined ? !name.startsWith('tool.') : typeof tool === 'string' && isLocalTool(app, tool);
  const agents = agentsIn(attributes);
  const ofUser = agents.length === 0 ? name === 'run.undone' : agents.every((agent) => osUserOf(agent) === user);
  const isSmall = JSON.stringify(attributes).length <= mostRecordText && Object.keys(attributes).length < mostAttributes;
  if (!reportedNames.has(name) || !ofTool || !ofUser || !isSmall) throw notYours();
  return { name, attributes: { ...attributes, reported_by: user } };
}

/** SECURITY: whom scopes name besides is no affair of this user's. */
function withOwnScopes({ scopes, rows, ...matrix }: PolicyMatrix): PolicyMatrix {
  const isOwn = (_: unknown, index: number) => scopes[index]?.isOwn === true;
  return { ...matrix, scopes: scopes.filter(isOwn), rows: rows.map((row) => ({ ...row, scopes: row.scopes.filter(isOwn) })) };
}
