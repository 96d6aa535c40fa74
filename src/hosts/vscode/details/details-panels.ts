/** The pages of requests: one panel each, drawn anew when the request changes. They show; the dialog asks. */
import { randomBytes } from 'node:crypto';
import { type Disposable, ViewColumn, type WebviewPanel, window } from 'vscode';
import { agentOf } from '#app/people/run-approved';
import type { App } from '#kernel/app';
import type { ReviewCard } from '#kernel/approval/answer';
import type { RequestRecord, RequestStatus } from '#kernel/approval/request';
import { toFault } from '#kernel/errors';
import { type PlanProgress, planIn } from '#kernel/plans/plan-progress';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from '../app-session.ts';
import { Rereader } from '../approvals-view/rereader.ts';
import { createDisposableBag } from '../disposables.ts';
import { t } from '../l10n.ts';
import { notify } from '../notify.ts';
import { workspaceRestriction } from '../tools/run-tool.ts';
import { detailsPage, type Loaded, type RequestFacts } from './details-page.ts';

/** SECURITY: what a link of the page may run; each takes an id and none decides anything. */
const linkedCommands = [
  'banksman.review',
  'banksman.deny',
  'banksman.revoke',
  'banksman.showDiff',
  'banksman.openPage',
  'banksman.strikeSteps',
];
/** The time left is in the page. */
const redrawMs = 30_000;
/** So are the steps of a plan under way. */
const planMs = 2_000;
const askMs = 15_000;

export interface DetailsPanels extends Disposable {
  /** Opens the page of a request, or brings it to the front. */
  show(id: string): Promise<void>;
}

type Loadable = Pick<RequestFacts, 'live' | 'policy'>;

export function createDetailsPanels(session: AppSession, onError: (error: unknown) => void): DetailsPanels {
  const open = new Map<string, WebviewPanel>();
  const openPanel = (record: RequestRecord): WebviewPanel => {
    const title = showPlainly(record.title, 60).replace(/\?$/, '');
    const panel = window.createWebviewPanel('banksman.request', title, ViewColumn.Active, {
      enableScripts: false,
      enableForms: false,
      enableCommandUris: linkedCommands,
      localResourceRoots: [],
    });
    open.set(record.id, panel);
    const bag = createDisposableBag(onError);
    bag.add(follow(panel, record.id, { session, onError }));
    panel.onDidDispose(() => {
      open.delete(record.id);
      bag.dispose();
    });
    return panel;
  };
  return {
    async show(id) {
      const record = await session.use(({ approvals }) => approvals.get(id));
      if (!record) return void notify.info(t('There is no request {0}.', id));
      (open.get(id) ?? openPanel(record)).reveal();
    },
    dispose() {
      for (const panel of [...open.values()]) panel.dispose();
    },
  };
}

/** Draws at once, again when the slow facts are there, and then after each change. */
function follow(
  panel: WebviewPanel,
  id: string,
  { session, onError }: { readonly session: AppSession; readonly onError: (error: unknown) => void },
): Disposable {
  let isUnderWay = false;
  let loaded: (Loadable & { readonly status: RequestStatus }) | undefined;
  const rereader = new Rereader({
    session,
    onError,
    everyMs: () => (isUnderWay ? planMs : redrawMs),
    follow: (app, changed) => app.approvals.onChange(changed),
    read: async (app) => {
      const card = await app?.approvals.card(id);
      if (!app || !card) return;
      const { record } = card;
      isUnderWay = false;
      const page = await pageAndProgress(app, record);
      draw(panel, card, { record, ...page, ...(loaded ?? { live: undefined, policy: undefined }) });
      isUnderWay = isRunning(page.progress);
      // What the cluster said before the call ran is no longer so after it.
      if (loaded?.status === record.status) return;
      loaded = { ...(await load(app, record)), status: record.status };
      draw(panel, card, { record, ...page, ...loaded });
    },
  });
  return { dispose: () => rereader.dispose() };
}

/** Where it is a plan. */
async function pageAndProgress({ plans, config: { page } }: App, record: RequestRecord): Promise<Pick<RequestFacts, 'page' | 'progress'>> {
  const progress = planIn(record) === undefined ? undefined : await plans.get(record.id);
  return { ...(page === undefined ? {} : { page }), ...(progress === undefined ? {} : { progress }) };
}

function isRunning(progress: PlanProgress | undefined): boolean {
  return progress?.standing === 'running' || progress?.standing === 'paused';
}

function draw(panel: WebviewPanel, card: ReviewCard, facts: Pick<RequestFacts, 'record' | 'page' | 'progress'> & Loadable): void {
  const nonce = randomBytes(16).toString('hex');
  panel.webview.html = detailsPage({ ...facts, card, now: Date.now(), nonce });
}

async function load(app: App, record: RequestRecord): Promise<Loadable> {
  const signal = AbortSignal.timeout(askMs);
  const [live, policy] = await Promise.all([orFailure(app.live.facts(record.action, signal)), orFailure(explainAgain(app, record))]);
  return { live, policy };
}

async function orFailure<T>(work: Promise<T>): Promise<Loaded<T>> {
  try {
    return await work;
  } catch (thrown) {
    return { failed: toFault(thrown).message };
  }
}

/** As a new call would end. Calls over MCP and the command line know no workspace trust. */
function explainAgain(app: App, { action, agent }: RequestRecord) {
  const here = agent.host !== 'mcp' && agent.host !== 'cli';
  return app.explain({
    tool: action.tool,
    input: action.arguments,
    agent: agentOf({ agent }, app.config.defaultModelTier),
    ...(here ? workspaceRestriction() : {}),
  });
}
