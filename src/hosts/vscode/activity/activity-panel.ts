/** *Show Activity*: what agents did, as it happens. It shows; what its buttons lead to are the same commands and questions as anywhere else. */
import { commands, type Uri } from 'vscode';
import type { App } from '#kernel/app';
import type { AppSession } from '../app-session.ts';
import { faultWords, reasonWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import { type LivePage, openLivePage } from '../live-page.ts';
import { workspaceRestriction } from '../tools/run-tool.ts';
import { activityMarkup, activityParts, activityStyle } from './activity-page.ts';
import { type ActivityCall, allCalls, type CallFilter, callsIn, explainAgain, ranges } from './calls.ts';

const lookMs = 2_000;
/** So many records of the trail's end are read. */
const most = 5_000;

export class ActivityPanel {
  readonly #session: AppSession;
  readonly #page: LivePage;
  #calls: readonly ActivityCall[] | { readonly failed: string } | undefined;
  #hasMore = false;
  #filter: CallFilter = allCalls;
  #open: { readonly id: string; readonly extra: string } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The newest record that was read; undefined: none, or a trail that names none. */
  #head: number | undefined;

  constructor(session: AppSession, extensionUri: Uri, ended: () => void) {
    this.#session = session;
    this.#page = openLivePage({
      ...{ kind: 'banksman.activity', title: t('Activity'), style: activityStyle, parts: activityParts, extensionUri },
      said: (words) => this.#said(words),
      seen: () => void this.#look(),
      ended: () => {
        clearTimeout(this.#timer);
        ended();
      },
    });
    this.#draw();
    void this.#look();
  }

  reveal(): void {
    this.#page.reveal();
  }

  dispose(): void {
    this.#page.dispose();
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.#page.isVisible) return;
    try {
      await this.#session.use((app) => this.#read(app));
    } catch (thrown) {
      this.#calls = { failed: faultWords(thrown) };
      this.#head = undefined;
    }
    this.#draw();
    clearTimeout(this.#timer);
    if (this.#page.isVisible) this.#timer = setTimeout(() => void this.#look(), lookMs);
  }

  async #read({ audit }: App): Promise<void> {
    const head = (await audit.head())?.sequence;
    if (head !== undefined && head === this.#head) return;
    const records = await audit.tail(most);
    this.#head = head;
    this.#hasMore = (records[0]?.sequence ?? 1) > 1;
    this.#calls = callsIn(records);
  }

  #draw(): void {
    const facts = { calls: this.#calls, hasMore: this.#hasMore, filter: this.#filter, open: this.#open, now: Date.now() };
    this.#page.draw(activityMarkup(facts));
  }

  #said(words: Readonly<Record<string, unknown>>): void {
    this.#filter = narrowed(this.#filter, words);
    const [[verb, id] = []] = Object.entries(words);
    const call = this.#calls !== undefined && !('failed' in this.#calls) ? this.#calls.find((one) => one.id === id) : undefined;
    if (call !== undefined) void this.#about(verb ?? '', call);
    this.#draw();
  }

  async #about(verb: string, call: ActivityCall): Promise<void> {
    if (verb === 'open') this.#open = this.#open?.id === call.id ? undefined : { id: call.id, extra: '' };
    if (verb === 'request') await commands.executeCommand('banksman.showDetails', call.requestId);
    if (verb === 'undo') await commands.executeCommand('banksman.undoRun');
    if (verb === 'explain' || verb === 'proof') {
      const ask = verb === 'explain' ? explained : proven;
      const extra = await this.#session.use((app) => ask(app, call)).catch((thrown: unknown) => faultWords(thrown));
      this.#open = { id: call.id, extra };
    }
    this.#draw();
  }
}

/** SECURITY: words of the page; each counts only as what its list holds. */
function narrowed(filter: CallFilter, words: Readonly<Record<string, unknown>>): CallFilter {
  const said = (name: keyof CallFilter) => {
    const word = words[name];
    return typeof word === 'string' ? word.slice(0, 200) : filter[name];
  };
  const range = said('range');
  const known = Object.hasOwn(ranges, range) ? (range as CallFilter['range']) : filter.range;
  return { range: known, agent: said('agent'), tool: said('tool'), end: said('end'), search: said('search') };
}

/** What the policy says of the same call now. */
async function explained(app: App, call: ActivityCall): Promise<string> {
  const { decision, status, stages } = await explainAgain(app, call, workspaceRestriction());
  const lines = stages.map(({ stage, decision: one }) => `${stage}: ${one.effect}, ${reasonWords(one)} (${one.code})`);
  return [t('Now it would end as: {0}. {1}', status, reasonWords(decision)), '', ...lines].join('\n');
}

/** That its record is in the trail, for anybody who has the log's key. */
async function proven({ audit }: App, { sequence }: ActivityCall): Promise<string> {
  return JSON.stringify(await audit.prove(sequence), undefined, 2);
}
