/** The pages of guests: one panel each, with what the cluster and the trail say of it, as long as somebody can see it. */
import type { Disposable, Uri } from 'vscode';
import type { AuditRecord } from '#kernel/audit-event';
import { textOf } from '#kernel/json';
import type { GuestSheet, TaskLook, Unreadable } from '#kernel/live';
import type { GuestRef } from '#kernel/ports/cluster';
import { taskTitle } from '#kernel/text/result-fields';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from '../app-session.ts';
import { faultWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import { type LivePage, openLivePage } from '../live-page.ts';
import type { RowTarget, TreeRow } from './cluster-rows.ts';
import type { ClusterView } from './cluster-view.ts';
import { toolFor } from './fitting-tools.ts';
import { guestMarkup, guestParts, guestStyle, recordsOf } from './guest-page.ts';
import { actByVerb, chooseAndAct, type RowActionDeps } from './row-actions.ts';

const sheetMs = 30_000;
const logMs = 2_000;
const askMs = 20_000;
/** So much of the trail's end is looked through. */
const lookedThrough = 5_000;

interface PanelDeps {
  readonly session: AppSession;
  readonly view: ClusterView;
  readonly actions: RowActionDeps;
  /** The extension's own folder. */
  readonly extensionUri: Uri;
}

export interface GuestPanels extends Disposable {
  /** Opens the page of the guest, or brings it to the front. @param upid also shows the log of this task of its */
  show(target: RowTarget, upid?: string): void;
}

export function createGuestPanels(deps: PanelDeps): GuestPanels {
  const open = new Map<string, GuestPanel>();
  return {
    show(target, upid) {
      const { cluster, vmid, node = '', guestType = 'qemu' } = target;
      if (vmid === undefined) return;
      const key = `${cluster} ${vmid}`;
      const known = open.get(key) ?? new GuestPanel({ cluster, ref: { vmid, node, guestType } }, deps, () => open.delete(key));
      open.set(key, known);
      known.reveal(upid);
    },
    dispose() {
      for (const panel of [...open.values()]) panel.dispose();
    },
  };
}

/** Buttons, where a tool of that name fits what the guest is now. */
const buttons = [
  ['start', t('Start')],
  ['resume', t('Resume')],
  ['shutdown', t('Shut Down…')],
  ['restart', t('Restart…')],
  ['create_snapshot', t('Take Snapshot…')],
  ['backup_guest', t('Back Up…')],
  ['migrate_guest', t('Migrate…')],
] as const;
const anything = 'anything';

interface Shown {
  readonly cluster: string;
  readonly ref: GuestRef;
}

class GuestPanel {
  readonly #shown: Shown;
  readonly #deps: PanelDeps;
  readonly #title: string;
  readonly #page: LivePage;
  #row: TreeRow | undefined;
  #sheet: GuestSheet | undefined;
  #trail: readonly AuditRecord[] | Unreadable | undefined;
  #log: { readonly upid: string; readonly title: string; look: TaskLook | Unreadable | undefined } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #logTimer: NodeJS.Timeout | undefined;

  constructor(shown: Shown, deps: PanelDeps, onEnd: () => void) {
    this.#shown = shown;
    this.#deps = deps;
    this.#row = deps.view.guest(shown.cluster, shown.ref.vmid);
    this.#title = showPlainly(this.#row?.label ?? String(shown.ref.vmid), 60);
    const unfollow = deps.view.feed.onChange(() => this.#clusterChanged());
    this.#page = openLivePage({
      ...{ kind: 'banksman.guest', title: this.#title, style: guestStyle, parts: guestParts, extensionUri: deps.extensionUri },
      said: (words) => this.#said(words),
      seen: () => this.#follow(),
      ended: () => {
        onEnd();
        this.#watch(false);
        unfollow();
      },
    });
    this.#follow();
  }

  reveal(upid?: string): void {
    this.#page.reveal();
    if (upid !== undefined) this.#showLog(upid);
  }

  dispose(): void {
    this.#page.dispose();
  }

  /** What they lead to asks as any call. */
  #said({ act, log }: Readonly<Record<string, unknown>>): void {
    if (typeof log === 'string') this.#showLog(log);
    const target = this.#row?.target;
    if (target === undefined || typeof act !== 'string') return;
    if (act === anything) void chooseAndAct(target, this.#title, this.#deps.actions);
    else if (buttons.some(([verb]) => verb === act)) void actByVerb(act, target, this.#deps.actions);
  }

  #watch(isSeen: boolean): void {
    const { cluster, ref } = this.#shown;
    this.#deps.view.feed.watch(`page ${cluster} ${ref.vmid}`, isSeen);
    clearTimeout(this.#timer);
    clearTimeout(this.#logTimer);
  }

  #follow(): void {
    this.#watch(this.#page.isVisible);
    if (!this.#page.isVisible) return;
    void this.#read();
    if (this.#log !== undefined) void this.#readLog();
  }

  /** What it is now may be another thing than a moment ago: then all else is read again, too. */
  #clusterChanged(): void {
    const { cluster, ref } = this.#shown;
    const before = this.#row;
    this.#row = this.#deps.view.guest(cluster, ref.vmid);
    const isOther = before?.kind !== this.#row?.kind || before?.flags.join() !== this.#row?.flags.join();
    if (isOther && this.#page.isVisible) void this.#read();
    else this.#draw();
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    const { cluster, ref } = this.#shown;
    const guest = { ...ref, node: this.#row?.target.node ?? ref.node };
    const signal = AbortSignal.timeout(askMs);
    const [sheet, trail] = await Promise.all([
      this.#deps.session.use(({ live }) => live.guest(cluster, guest, signal)).catch(allFailed),
      this.#deps.session.use(({ audit }) => audit.tail(lookedThrough)).catch(failed),
    ]);
    this.#sheet = sheet;
    this.#trail = 'failed' in trail ? trail : recordsOf(trail, cluster, ref.vmid);
    this.#draw();
    if (!this.#page.isVisible) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), sheetMs);
  }

  #showLog(upid: string): void {
    const tasks = this.#sheet === undefined || 'failed' in this.#sheet.tasks ? [] : this.#sheet.tasks;
    const task = tasks.find((one) => textOf(one['upid']) === upid);
    this.#log = { upid, title: task === undefined ? 'task' : taskTitle(task['type']), look: undefined };
    this.#draw();
    this.#page.goTo('log');
    void this.#readLog();
  }

  async #readLog(): Promise<void> {
    const log = this.#log;
    if (log === undefined) return;
    clearTimeout(this.#logTimer);
    const { cluster } = this.#shown;
    log.look = await this.#deps.session.use(({ live }) => live.task(cluster, log.upid, AbortSignal.timeout(askMs))).catch(failed);
    if (log !== this.#log) return;
    this.#draw();
    const isOver = 'failed' in log.look || !log.look.running;
    if (!isOver && this.#page.isVisible) this.#logTimer = setTimeout(() => void this.#readLog(), logMs);
  }

  #draw(): void {
    const target = this.#row?.target;
    const fitting = target === undefined ? [] : buttons.filter(([verb]) => toolFor(this.#deps.actions.tools(), verb, target) !== undefined);
    const acts = [...fitting.map(([verb, label]) => ({ verb, label })), { verb: anything, label: t('Do…') }];
    const facts = { row: this.#row, sheet: this.#sheet, trail: this.#trail, log: this.#log, acts };
    this.#page.draw(guestMarkup(facts));
  }
}

function failed(thrown: unknown): Unreadable {
  return { failed: faultWords(thrown) };
}

function allFailed(thrown: unknown): GuestSheet {
  const one = failed(thrown);
  return { status: one, config: one, snapshots: one, backups: one, tasks: one, metrics: one };
}
