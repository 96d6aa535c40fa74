/** A command for every cluster tool: the same pipeline and the same gate as a model's call, with a person as the caller. */
import { commands, type Disposable } from 'vscode';
import { paletteAgent } from '#app/for-hosts';
import type { RequestRecord } from '#kernel/approval/request';
import { toFault } from '#kernel/errors';
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { ToolDescription } from '#kernel/tool';
import type { AppSession } from '../app-session.ts';
import { isOfConfiguration } from '../approvals-view/problem-rows.ts';
import { paletteCommand } from '../contributes/names.ts';
import { faultWords, outcomeWords, saidWords } from '../fault-words.ts';
import { type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { t, titleOf } from '../l10n.ts';
import { describeTools, toolNamed } from '../load-parts.ts';
import { tellFault } from '../notices.ts';
import { notify } from '../notify.ts';
import { titleOfRequest } from '../request-words.ts';
import { abortOnCancel, showCallProgress } from '../tools/call-progress.ts';
import { runTool, type ToolRunner, workspaceRestriction } from '../tools/run-tool.ts';
import { type Arguments, type AskContext, askArguments } from './ask-arguments.ts';
import type { ResultDocuments } from './result-documents.ts';
import { resultPage } from './result-page.ts';
import { toldCommand } from './told-command.ts';

interface OutcomeDeps {
  readonly documents: ResultDocuments;
  /** Opens the dialog of a pending request. */
  review(id: string): Promise<unknown>;
}

export interface ClusterActionDeps extends OutcomeDeps {
  readonly runner: ToolRunner;
  readonly confirm: ConfirmDeps;
  /** The person's name on this machine. */
  readonly osUser: string;
}

/**
 * Arguments that a caller passes to the command are ignored: everything is asked.
 * @param contributed the manifest's commands; those that run a tool are registered
 */
export function registerClusterActions(contributed: readonly string[], deps: ClusterActionDeps): Disposable[] {
  const own = contributed.filter((command) => command.startsWith(paletteCommand('')));
  return own.map((command) => toldCommand(command, async () => act(await toolNamed(({ name }) => paletteCommand(name) === command), deps)));
}

/** @param known what of the arguments is known, and what others can be */
export async function act(tool: ToolDescription, deps: ClusterActionDeps, known?: Pick<AskContext, 'given' | 'choices'>): Promise<void> {
  const call = abortOnCancel();
  try {
    const input = await deps.runner.session.use(({ live }) => askArguments({ tool, live, signal: call.signal, ...known }));
    if (!input || !(await confirmed(tool, input, deps))) return;
    const outcome = await runTool(deps.runner, { tool, input, call, agent: () => paletteAgent(deps.osUser) });
    await showOutcome(tool, outcome, deps);
  } catch (thrown) {
    await (isOfConfiguration(toFault(thrown)) ? tellFault(thrown) : offerLog('error', `${titleOf(tool)}: ${faultWords(thrown)}`));
  } finally {
    call.dispose();
  }
}

/** Red calls are asked about by the gate itself, with live facts; reading needs no question. */
async function confirmed(tool: ToolDescription, input: Arguments, deps: ClusterActionDeps): Promise<boolean> {
  const said = await deps.runner.session.use((app) => Promise.resolve(app.announce(tool.name, input)));
  if (tool.tier !== 'yellow' || said?.asks) return true;
  const facts = Object.entries(input).map(([name, value]) => `${name}: ${showPlainly(String(value))}`);
  const title = `${showPlainly(said?.title ?? titleOf(tool), 200).replace(/\?$/, '')}?`;
  return confirmRun(
    { key: tool.name, title, detail: [...facts, '', t('It is checked against the policy and written down before it runs.')].join('\n') },
    deps.confirm,
  );
}

/** What came of a call, for the person who started it. A command's output is worth a page, too. */
async function showOutcome(tool: ToolDescription, outcome: Outcome, deps: OutcomeDeps): Promise<void> {
  const isRead = tool.impact === 'none' || tool.group === 'workspace';
  if (outcome.status === 'ok' && isRead && outcome.result !== undefined)
    return deps.documents.show(titleOf(tool), resultPage(titleOf(tool), outcome));
  if (outcome.status === 'ok') return offerLog('info', saidWords(outcome.message));
  if (outcome.status !== 'pending' || outcome.request_id === undefined)
    return offerLog('error', `${titleOf(tool)}: ${outcomeWords(outcome)}`);
  const pressed = await notify.info(`${titleOf(tool)}: ${saidWords(outcome.message)}`, t('Review'));
  if (pressed !== undefined) await deps.review(outcome.request_id);
}

async function offerLog(kind: 'info' | 'error', message: string): Promise<void> {
  const show = kind === 'info' ? notify.info : notify.error;
  const button = t('Show Log');
  if ((await show(message, button)) === button) await commands.executeCommand('banksman.showLog');
}

/** `Approve and Run`: the call of a request that its agent no longer waits for, run for the person who approved it. */
interface RunByHandDeps extends OutcomeDeps {
  readonly session: AppSession;
  /** `user:alice`. */
  readonly person: string;
}

/** Never rejects: what goes wrong is told. Nobody is asked any more, so there is no gate. */
export async function runByHand(record: RequestRecord, deps: RunByHandDeps): Promise<void> {
  const tool = (await describeTools()).find(({ name }) => name === record.action.tool);
  const call = abortOnCancel();
  const progress = showCallProgress(`Banksman: ${titleOfRequest(record, 160)}`, { ask: () => undefined }, () => call.abort());
  try {
    const outcome = await deps.session.use((app) =>
      app.runApproved(record.id, { by: deps.person, signal: call.signal, ...workspaceRestriction(), onProgress: progress.onProgress }),
    );
    progress.end();
    if (tool !== undefined) await showOutcome(tool, outcome, deps);
    // What comes next of one that went well is said for agents.
    else if (outcome.status === 'ok') await offerLog('info', saidWords(outcome.message));
    else await offerLog('error', showPlainly(outcomeWords(outcome)));
  } catch (thrown) {
    await offerLog('error', `${titleOfRequest(record, 160)}: ${faultWords(thrown)}`);
  } finally {
    progress.end();
    call.dispose();
  }
}
