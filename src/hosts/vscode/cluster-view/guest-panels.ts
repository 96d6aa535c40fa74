/** The pages of guests: one panel each, with what the cluster and the trail say of it, as long as somebody can see it. */
import { randomBytes } from 'node:crypto';
import { type Disposable, Uri, ViewColumn, type WebviewPanel, window } from 'vscode';
import type { GuestSheet, TaskLook, Unreadable } from '#kernel/app';
import type { AuditRecord } from '#kernel/audit-event';
import { toFault } from '#kernel/errors';
import { textOf } from '#kernel/json';
import type { GuestRef } from '#kernel/ports/cluster';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from '../app-session.ts';
import { taskTitle } from '../commands/result-fields.ts';
import { createDisposableBag } from '../disposables.ts';
import type { RowTarget, TreeRow } from './cluster-rows.ts';
import type { ClusterView } from './cluster-view.ts';
import { toolFor } from './fitting-tools.ts';
import { type GuestPart, guestMarkup, guestShell, recordsOf } from './guest-page.ts';
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
  ['start', 'Start'],
  ['resume', 'Resume'],
  ['shutdown', 'Shut Down…'],
  ['restart', 'Restart…'],
  ['create_snapshot', 'Take Snapshot…'],
  ['backup_guest', 'Back Up…'],
  ['migrate_guest', 'Migrate…'],
] as const;
const anything = 'anything';

interface Shown {
  readonly cluster: string;
  readonly ref: GuestRef;
}

class GuestPanel {
  readonly #shown: Shown;
  readonly #deps: PanelDeps;
  readonly #panel: WebviewPanel;
  readonly #bag = createDisposableBag();
  readonly #drawn = new Map<string, string>();
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
    const media = Uri.joinPath(deps.extensionUri, 'media');
    const options = { enableScripts: true, enableForms: false, enableFindWidget: true, localResourceRoots: [media] };
    const title = showPlainly(this.#row?.label ?? String(shown.ref.vmid), 60);
    this.#panel = window.createWebviewPanel('banksman.guest', title, ViewColumn.Active, options);
    const script = this.#panel.webview.asWebviewUri(Uri.joinPath(media, 'guest-page.js')).toString();
    this.#panel.webview.onDidReceiveMessage((message: unknown) => this.#said(message), undefined);
    this.#panel.onDidChangeViewState(() => this.#follow());
    this.#panel.onDidDispose(() => {
      onEnd();
      this.#watch(false);
      this.#bag.dispose();
    });
    this.#bag.add({ dispose: deps.view.feed.onChange(() => this.#clusterChanged()) });
    this.#panel.webview.html = guestShell({ title, nonce: randomBytes(16).toString('hex'), script });
    this.#follow();
  }

  reveal(upid?: string): void {
    this.#panel.reveal();
    if (upid !== undefined) this.#showLog(upid);
  }

  dispose(): void {
    this.#panel.dispose();
  }

  /** SECURITY: the words come from our own script in this panel alone, and choose among what the page offers. What they lead to asks as any call. */
  #said(message: unknown): void {
    const { act, log, ready } = typeof message === 'object' && message !== null ? (message as Record<string, unknown>) : {};
    if (ready === true) {
      this.#drawn.clear();
      this.#draw();
    }
    if (typeof log === 'string') this.#showLog(log);
    const target = this.#row?.target;
    if (target === undefined || typeof act !== 'string') return;
    if (act === anything) void chooseAndAct(target, this.#panel.title, this.#deps.actions);
    else if (buttons.some(([verb]) => verb === act)) void actByVerb(act, target, this.#deps.actions);
  }

  #watch(isSeen: boolean): void {
    const { cluster, ref } = this.#shown;
    this.#deps.view.feed.watch(`page ${cluster} ${ref.vmid}`, isSeen);
    clearTimeout(this.#timer);
    clearTimeout(this.#logTimer);
  }

  #follow(): void {
    this.#watch(this.#panel.visible);
    if (!this.#panel.visible) return;
    void this.#read();
    if (this.#log !== undefined) void this.#readLog();
  }

  /** What it is now may be another thing than a moment ago: then all else is read again, too. */
  #clusterChanged(): void {
    const { cluster, ref } = this.#shown;
    const before = this.#row;
    this.#row = this.#deps.view.guest(cluster, ref.vmid);
    const isOther = before?.kind !== this.#row?.kind || before?.flags.join() !== this.#row?.flags.join();
    if (isOther && this.#panel.visible) void this.#read();
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
    if (!this.#panel.visible) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), sheetMs);
  }

  #showLog(upid: string): void {
    const tasks = this.#sheet === undefined || 'failed' in this.#sheet.tasks ? [] : this.#sheet.tasks;
    const task = tasks.find((one) => textOf(one['upid']) === upid);
    this.#log = { upid, title: task === undefined ? 'task' : taskTitle(task['type']), look: undefined };
    this.#draw();
    void this.#panel.webview.postMessage({ to: 'log' });
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
    if (!isOver && this.#panel.visible) this.#logTimer = setTimeout(() => void this.#readLog(), logMs);
  }

  #draw(): void {
    const target = this.#row?.target;
    const fitting = target === undefined ? [] : buttons.filter(([verb]) => toolFor(this.#deps.actions.tools, verb, target) !== undefined);
    const acts = [...fitting.map(([verb, label]) => ({ verb, label })), { verb: anything, label: 'Do…' }];
    const facts = { row: this.#row, title: this.#panel.title, sheet: this.#sheet, trail: this.#trail, log: this.#log, acts };
    const parts = Object.entries(guestMarkup(facts)) as [GuestPart, string][];
    const changed = parts.filter(([name, markup]) => this.#drawn.get(name) !== markup);
    for (const [name, markup] of changed) this.#drawn.set(name, markup);
    if (changed.length > 0) void this.#panel.webview.postMessage({ parts: Object.fromEntries(changed) });
  }
}

function failed(thrown: unknown): Unreadable {
  return { failed: toFault(thrown).message };
}

function allFailed(thrown: unknown): GuestSheet {
  const one = failed(thrown);
  return { status: one, config: one, snapshots: one, backups: one, tasks: one, metrics: one };
}
