/** The pages of requests: one panel each, drawn anew when the request changes. They show; the dialog asks. */
import { commands, type Disposable, type Uri } from 'vscode';
import { agentOf } from '#app/for-hosts';
import type { App } from '#kernel/app';
import type { RequestRecord, RequestStatus } from '#kernel/approval/request';
import { type PlanProgress, planIn } from '#kernel/plans/plan-progress';
import type { AppSession } from '../app-session.ts';
import { Rereader } from '../approvals-view/rereader.ts';
import { createDisposableBag } from '../disposables.ts';
import { faultWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import { type LivePage, openLivePage } from '../live-page.ts';
import { notify } from '../notify.ts';
import { titleOfRequest } from '../request-words.ts';
import { workspaceRestriction } from '../tools/run-tool.ts';
import type { Loaded, RequestFacts } from './details-page.ts';

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

/** Loaded with the first page. */
type DetailsPage = typeof import('./details-page.ts');

export interface DetailsDeps {
  readonly session: AppSession;
  readonly extensionUri: Uri;
  onError(error: unknown): void;
}

export function createDetailsPanels(deps: DetailsDeps): DetailsPanels {
  const open = new Map<string, LivePage>();
  const openPanel = (record: RequestRecord, markup: DetailsPage): LivePage => {
    const { id } = record;
    const { detailsParts } = markup;
    const bag = createDisposableBag(deps.onError);
    const page = openLivePage({
      ...{ kind: 'banksman.request', title: titleOfRequest(record, 160), tab: titleOfRequest(record, 60), style: '' },
      extensionUri: deps.extensionUri,
      ...{ parts: detailsParts, spoken: detailsParts[0] },
      said: ({ run }) =>
        runVerb(
          markup.detailsVerbs.find((known) => known === run),
          id,
        ),
      seen: () => undefined,
      ended: () => {
        open.delete(id);
        bag.dispose();
      },
    });
    open.set(id, page);
    bag.add(follow(page, id, deps, markup));
    return page;
  };
  return {
    async show(id) {
      const record = await deps.session.use(({ approvals }) => approvals.get(id));
      if (!record) return void notify.info(t('There is no request {0}.', id));
      const markup = await import('./details-page.ts');
      (open.get(id) ?? openPanel(record, markup)).reveal();
    },
    dispose() {
      for (const page of [...open.values()]) page.dispose();
    },
  };
}

/** SECURITY: a word of the page, which counts as one of ours or not at all; the id is this panel's, and what it opens asks in a dialog. */
function runVerb(verb: string | undefined, id: string): void {
  if (verb !== undefined) void commands.executeCommand(`banksman.${verb}`, id);
}

/** Draws at once, again when the slow facts are there, and then after each change. */
function follow(page: LivePage, id: string, { session, onError }: DetailsDeps, { detailsMarkup }: DetailsPage): Disposable {
  let looksAgainMs = redrawMs;
  let loaded: (Loadable & { readonly status: RequestStatus }) | undefined;
  const rereader = new Rereader({
    session,
    onError,
    everyMs: () => looksAgainMs,
    follow: (app, changed) => app.approvals.onChange(changed),
    read: async (app) => {
      const card = await app?.approvals.card(id);
      if (!app || !card) return;
      const { record } = card;
      const more = await pageAndProgress(app, record);
      page.draw(detailsMarkup({ card, record, ...more, ...(loaded ?? { live: undefined, policy: undefined }) }));
      looksAgainMs = isRunning(more.progress) ? planMs : untilNextChange(record, Date.now());
      // What the cluster said before the call ran is no longer so after it.
      if (loaded?.status === record.status) return;
      loaded = { ...(await load(app, record)), status: record.status };
      page.draw(detailsMarkup({ card, record, ...more, ...loaded }));
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

/** That its time is over is a matter of the clock: nobody tells. */
function untilNextChange({ status, expiresAt }: RequestRecord, now: number): number {
  return status === 'pending' ? Math.min(redrawMs, Math.max(0, expiresAt - now) + momentMs) : redrawMs;
}

const momentMs = 500;

async function load(app: App, record: RequestRecord): Promise<Loadable> {
  const signal = AbortSignal.timeout(askMs);
  const [live, policy] = await Promise.all([orFailure(app.live.facts(record.action, signal)), orFailure(explainAgain(app, record))]);
  return { live, policy };
}

async function orFailure<T>(work: Promise<T>): Promise<Loaded<T>> {
  try {
    return await work;
  } catch (thrown) {
    return { failed: faultWords(thrown) };
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
