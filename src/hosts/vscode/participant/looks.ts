/** The commands of `@banksman` that need no model: what there is, said in the chat. */
import { MarkdownString } from 'vscode';
import { defaultStateDir } from '#app/config/paths';
import type { App, Explanation, Finding } from '#kernel/app';
import { requestIdPattern, requestReason } from '#kernel/approval/request';
import type { RunRecord } from '#kernel/effects';
import { toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { clockTime, showPlainly } from '#kernel/text/text';
import { type ActivityCall, callsIn, explainAgain } from '../activity/calls.ts';
import { participantLabel } from '../contributes/participant.ts';
import { faultTexts, findingTexts, reasonWords, saidWords, topicOf } from '../fault-words.ts';
import { doctorOfWindow } from '../hooks/agent-standing.ts';
import { inWords, t } from '../l10n.ts';
import { codeSpan, escapeMarkdown } from '../markdown.ts';
import { statusNames, titleOfRequest } from '../request-words.ts';
import { abortOnCancel } from '../tools/call-progress.ts';
import { chatCaller } from '../tools/chat-words.ts';
import { runTool, workspaceRestriction } from '../tools/run-tool.ts';
import type { TurnMemory } from './memory.ts';
import { sayCall, sayLine } from './say.ts';
import type { ParticipantDeps, SignalledTurn, Turn } from './turn.ts';

/** Our own words, outside text in them escaped. */
function show({ stream }: Turn, text: string): void {
  stream.markdown(new MarkdownString(text, true));
}

/** `/status` */
export async function statusInChat(turn: SignalledTurn, { runner: { session } }: ParticipantDeps): Promise<TurnMemory> {
  const { clusters, words } = await session.use(async (app) => ({
    clusters: await Promise.all(app.live.clusters.map((name) => clusterWords(app, name, turn.signal))),
    words: await standing(app),
  }));
  // A list: the chat is narrow.
  const said = [...clusters, ...words].map((word) => `- ${word}`).join('\n');
  show(turn, said);
  if (clusters.length === 0) {
    sayLine(turn, 'info', t('No cluster is connected.'));
    turn.stream.button({ command: 'banksman.openWalkthrough', title: t('Connect a Cluster') });
  }
  turn.stream.button({ command: 'banksman.showApprovals', title: t('Show Pending Approvals') });
  return { said, calls: [] };
}

async function clusterWords({ live }: App, name: string, signal: AbortSignal): Promise<string> {
  const title = `**${escapeMarkdown(name)}**`;
  try {
    const { resources, tasks } = await live.overview(name, signal);
    const nodes = resources.filter(({ type }) => type === 'node');
    const guests = resources.filter(({ type, template }) => (type === 'qemu' || type === 'lxc') && template !== 1);
    const [online, running] = [inState(nodes, 'online'), inState(guests, 'running')];
    const mark = online < nodes.length ? '$(warning) ' : '';
    const words = t('{0} of {1} nodes online · {2} of {3} guests run', online, nodes.length, running, guests.length);
    const busy = tasks?.filter((task) => task['endtime'] === undefined).length ?? 0;
    return `${mark}${title}: ${words}${busy === 0 ? '' : `, ${t('tasks under way: {0}', busy)}`}`;
  } catch (thrown) {
    return `$(error) ${title}: ${escapeMarkdown(faultTexts(toFault(thrown)).message)}`;
  }
}

function inState(rows: readonly JsonObject[], state: string): number {
  return rows.filter(({ status }) => status === state).length;
}

async function standing(app: App): Promise<readonly string[]> {
  const [pending, { level, paused }, plans, attempts] = await Promise.all([
    app.approvals.countPending(),
    app.security.level(),
    app.plans.underWay(),
    app.attempts.list(),
  ]);
  const unknown = attempts.filter(({ standing: one }) => one === 'unknown').length;
  return [
    pending === 0 ? t('Nothing waits for you.') : `$(bell-dot) ${t('Requests that wait for you: {0}', pending)}`,
    ...(paused === undefined ? [] : [`$(debug-pause) ${t('All agents are paused, by {0}.', escapeMarkdown(paused.by))}`]),
    t('Security level: {0}', level),
    ...(plans.length === 0 ? [] : [t('Plans under way: {0}', plans.map(({ title }) => escapeMarkdown(title)).join(', '))]),
    ...(unknown === 0 ? [] : [`$(warning) ${t('Calls of which nobody knows what came: {0}', unknown)}`]),
  ];
}

/** `/doctor` */
export async function doctorInChat(turn: SignalledTurn, { runner: { session } }: ParticipantDeps): Promise<TurnMemory> {
  turn.stream.progress(t('Looking…'));
  const findings = await session.use((app) => doctorOfWindow(app, turn.signal, defaultStateDir()));
  const wrong = findings
    .filter(({ state }) => state !== 'ok')
    .toSorted((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed'));
  const well = t('{0} of {1} findings are well.', findings.length - wrong.length, findings.length);
  const said = [...wrong.map(findingWords), wrong.length === 0 ? `$(check) ${t('All is well.')} ${well}` : well].join('\n\n');
  show(turn, said);
  turn.stream.button({ command: 'banksman.doctor', title: t('Open the Whole Page') });
  return { said, calls: [] };
}

function findingWords(finding: Finding): string {
  const { state } = finding;
  const { message, remedy } = findingTexts(finding);
  const what = `$(${state === 'failed' ? 'error' : 'warning'}) **${escapeMarkdown(topicOf(finding))}**: ${escapeMarkdown(message)}`;
  return remedy === undefined ? what : `${what}  \n${t('What to do: {0}', escapeMarkdown(remedy))}`;
}

/** So many records of the trail's end are looked through for a refusal. */
const mostRecords = 5_000;

/** `/explain`: the request that is named, else the last refusal of this chat, else the last one of anybody. */
export async function explainInChat(turn: SignalledTurn, { runner: { session } }: ParticipantDeps): Promise<TurnMemory> {
  const id = turn.request.prompt.split(/[^\w-]+/).find((word) => requestIdPattern.test(word));
  const said = await session.use(async (app) => {
    const calls = callsIn(await app.audit.tail(mostRecords));
    const call = id === undefined ? lastRefused(calls, turn) : calls.find(({ requestId }) => requestId === id);
    if (call !== undefined) return explanationOf(call, app);
    if (id === undefined) return t('Nothing was refused, as far back as the last {0} records of the trail.', mostRecords);
    const request = await app.approvals.get(id);
    if (request === undefined) return t('There is no request {0}.', id);
    return t(
      'Request {0} is {1}: {2}. It asks because {3}.',
      id,
      statusNames[request.status],
      escapeMarkdown(titleOfRequest(request)),
      escapeMarkdown(inWords(requestReason(request))),
    );
  });
  show(turn, said);
  if (id !== undefined) turn.stream.button({ command: 'banksman.showDetails', title: t('Show Details'), arguments: [id] });
  turn.stream.button({ command: 'banksman.showActivity', title: t('Show Activity') });
  return { said, calls: [] };
}

function lastRefused(calls: readonly ActivityCall[], { request }: Turn): ActivityCall | undefined {
  const refused = calls.filter(({ end }) => end === 'denied');
  // The tier is no part of the id, and the service puts its user in front.
  const { id } = chatCaller(request.toolInvocationToken, 'basic');
  return refused.find(({ agent }) => agent === id || agent.endsWith(`/${id}`)) ?? refused[0];
}

async function explanationOf(call: ActivityCall, app: App): Promise<string> {
  const { tool, targets, at, agent, message, code, rules, end } = call;
  const on = targets.length === 0 ? '' : ` ${escapeMarkdown(targets.join(', '))}`;
  const lines = [
    `**${escapeMarkdown(tool)}**${on} · ${clockTime(at, Date.now())} · ${escapeMarkdown(agent)}`,
    `${t('It ended as {0}:', codeSpan(code === '' ? end : code))} ${escapeMarkdown(saidWords(message))}`,
    ...(rules.length === 0 ? [] : [t('Rules: {0}', rules.map((rule) => escapeMarkdown(rule)).join(', '))]),
  ];
  const now = await explainAgain(app, call, workspaceRestriction()).then(againWords, (thrown: unknown) => [
    t('What the policy says of it now cannot be read: {0}', escapeMarkdown(faultTexts(toFault(thrown)).message)),
  ]);
  return [...lines, ...now].join('\n\n');
}

/** What it passes is named alone; the chat is narrow. */
function againWords({ status, decision, stages }: Explanation): readonly string[] {
  const passed = stages.filter(({ decision: one }) => one.effect === 'allow').map(({ stage }) => escapeMarkdown(stage));
  const held = stages.filter(({ decision: one }) => one.effect !== 'allow').map(({ stage }) => `**${escapeMarkdown(stage)}**`);
  return [
    t('The same call now would end as {0}: {1}', codeSpan(status), escapeMarkdown(reasonWords(decision))),
    ...(held.length === 0 ? [] : [t('Stopped by the stage {0}.', held.join(', '))]),
    ...(passed.length === 0 ? [] : [t('Passed: {0}', passed.join(', '))]),
  ];
}

const mostRuns = 5;

/** `/undo`: the latest runs; with a run's id that run, by the tool for it, which takes back this chat's own alone. */
export async function undoInChat(turn: SignalledTurn, deps: ParticipantDeps): Promise<TurnMemory> {
  const runs = await deps.runner.session.use(async (app) => (await app.runs())?.list());
  if (runs === undefined) {
    const said = t('Commands do not run over a view here, so there is nothing to undo. `/doctor` says why.');
    show(turn, said);
    return { said, calls: [] };
  }
  const applied = runs.filter(({ state }) => state === 'applied');
  const named = applied.find(({ id }) => turn.request.prompt.split(/\s+/).includes(id));
  return named === undefined ? listRuns(turn, applied) : undoNamed(turn, named, deps);
}

function listRuns(turn: Turn, runs: readonly RunRecord[]): TurnMemory {
  if (runs.length === 0) {
    const said = t('There is nothing that can be undone.');
    show(turn, said);
    return { said, calls: [] };
  }
  for (const run of runs.slice(0, mostRuns)) {
    show(turn, `\n\n${runWords(run)}\n\n`);
    // Opens the differences and a question: for people.
    turn.stream.button({ command: 'banksman.undoRun', title: t('Undo This Run…'), arguments: [run.id] });
  }
  const more = runs.length - mostRuns;
  if (more > 0) show(turn, `\n\n${t('And {0} more.', more)}`);
  return { said: runs.slice(0, mostRuns).map(runWords).join('\n'), calls: [] };
}

function runWords({ id, title, at, agentId, created, changed, deleted }: RunRecord): string {
  const counts = t('{0} created, {1} changed, {2} deleted', created.length, changed.length, deleted.length);
  return `**${escapeMarkdown(showPlainly(title, 120))}**  \n${clockTime(at, Date.now())} · ${counts} · ${escapeMarkdown(agentId)} · ${codeSpan(id)}`;
}

async function undoNamed(turn: SignalledTurn, { id }: RunRecord, { tools, runner }: ParticipantDeps): Promise<TurnMemory> {
  const tool = tools.find(({ name }) => name === 'undo_run');
  if (tool === undefined) return { said: '', calls: [] };
  const outcome = await runTool(runner, {
    tool,
    input: { run_id: id },
    // No model is in this: the tier is the one that the configuration has for whoever calls in a chat.
    agent: (configured) => ({ ...chatCaller(turn.request.toolInvocationToken, configured), label: participantLabel }),
    call: abortOnCancel(turn.token),
    isShownThere: true,
  });
  sayCall(turn, tool, outcome);
  const isElsewhere = isJsonObject(outcome) && outcome.code === 'no_such_run';
  if (isElsewhere) turn.stream.button({ command: 'banksman.undoRun', title: t('Undo This Run…'), arguments: [id] });
  return { said: outcome.message, calls: [{ tool: tool.name, input: { run_id: id }, summary: outcome.message }] };
}
