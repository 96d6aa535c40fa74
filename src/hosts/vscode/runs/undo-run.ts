/** *Undo This Run…*: a run out of a list, the editor's own diff of what goes back, a modal, and the undo. For people only. */
import { commands, type Disposable, EventEmitter, type QuickPickItem, Uri, window, workspace } from 'vscode';
import type { ChangeList, RunHistory, RunRecord, ShownChange } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { clockTime, showPlainly } from '#kernel/text/text';
import type { AppSession } from '../app-session.ts';
import { createDisposableBag } from '../disposables.ts';
import { faultTexts, faultWords } from '../fault-words.ts';
import { type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { notify } from '../notify.ts';

const scheme = 'banksman-run';
const mostListed = 200;
/** The editor opens that many files at once and no more. */
const mostCompared = 50;
const mostNamed = 12;

export interface UndoDeps {
  readonly session: AppSession;
  readonly confirm: ConfirmDeps;
}

export function registerUndoRun({ session, confirm }: UndoDeps): Disposable {
  const bag = createDisposableBag();
  const changed = bag.add(new EventEmitter<Uri>());
  const textOf = ({ authority, path, query }: Uri) =>
    session.use(async (app) => {
      const texts = await (await app.runs())?.texts(authority, path.slice(1));
      return (query === 'now' ? texts?.now : texts?.before) ?? t('(no text to show)');
    });
  bag.add(workspace.registerTextDocumentContentProvider(scheme, { onDidChange: changed.event, provideTextDocumentContent: textOf }));
  const undo = async (id: unknown) => {
    try {
      await session.use(async (app) => {
        const history = await app.runs();
        if (history === undefined)
          return confirm.dialogs.tell(
            'info',
            t('Commands do not run over a view here, so there is nothing to undo. “Banksman: Doctor” says why.'),
          );
        const run = await chooseRun(await history.list(), id);
        if (run !== undefined) await undoRun(run, { history, confirm, refresh: (uri) => changed.fire(uri) });
      });
    } catch (thrown) {
      confirm.dialogs.tell('error', t('Not undone: {0}', faultWords(thrown)));
    }
  };
  bag.add(commands.registerCommand('banksman.undoRun', undo));
  return bag;
}

interface UndoParts {
  readonly history: RunHistory;
  readonly confirm: ConfirmDeps;
  /** The text of this document may be another one now. */
  refresh(uri: Uri): void;
}

/** The one of that id, or one that the person chooses. */
async function chooseRun(records: readonly RunRecord[], id: unknown): Promise<RunRecord | undefined> {
  const runs = records.filter(({ state }) => state === 'applied');
  const named = runs.find((run) => run.id === id);
  if (named !== undefined) return named;
  if (runs.length === 0) return void notify.info(t('There is no run that can be undone.'));
  const items = runs.slice(0, mostListed).map((run): QuickPickItem & { readonly run: RunRecord } => ({
    label: showPlainly(run.title, 100),
    description: clockTime(run.at, Date.now()),
    detail: t('{0}, by {1}', countsOf(run), showPlainly(run.agentId, 60)),
    run,
  }));
  const options = {
    title: t('Undo This Run…'),
    placeHolder: t('Which run? Its changes are shown before anything is undone.'),
    matchOnDetail: true,
  };
  return (await window.showQuickPick(items, options))?.run;
}

async function undoRun(run: RunRecord, parts: UndoParts): Promise<void> {
  const { history, confirm } = parts;
  const { changes, more } = await history.show(run.id);
  await showDiff(run, changes, parts);
  const lines = [...changes.slice(0, mostNamed).map(lineOf), ...restLine(changes.length - mostNamed + more)];
  const detail = [`${showPlainly(run.title, 300)}\n${t('{0}, by {1}', countsOf(run), showPlainly(run.agentId, 100))}`, ...lines].join('\n');
  const question = {
    key: `undo:${run.id}`,
    title: t('Undo what this run changed?'),
    detail,
    proceed: t('Undo'),
    stay: t('Leave It'),
    harmless: true,
  } as const;
  if (!(await confirmRun(question, confirm))) return;
  const undone = await history.undo(run.id, { force: false }).catch((thrown: unknown) => setAside(run, thrown, parts));
  if (undone !== undefined) confirm.dialogs.tell('info', t('Undone: {0}.', countsOf(undone)));
}

/** Somebody's later work is in the way: it stays unless the person says so, and even then it is kept. */
async function setAside({ id }: RunRecord, thrown: unknown, { history, confirm }: UndoParts): Promise<ChangeList | undefined> {
  if (!(thrown instanceof Fault) || thrown.code !== 'undo_in_the_way') throw thrown;
  const detail = `${faultTexts(thrown).message}\n\n${t('Set aside, what is there now moves out of the workspace into the journal of runs, and what was there before the run comes back. Else nothing changes.')}`;
  const question = {
    key: `undo-aside:${id}`,
    title: t('Files were changed since this run'),
    detail,
    proceed: t('Set Aside and Undo'),
    stay: t('Leave It'),
    harmless: true,
  } as const;
  return (await confirmRun(question, confirm)) ? history.undo(id, { force: true }) : undefined;
}

/** What is there now, beside what would be again. */
async function showDiff({ id, title }: RunRecord, changes: readonly ShownChange[], { refresh }: UndoParts): Promise<void> {
  const files = changes.filter(({ diff }) => diff !== undefined).slice(0, mostCompared);
  if (files.length === 0) return;
  const sides = files.map(({ path }) => {
    const uriOf = (query: string) => Uri.from({ scheme, authority: id, path: `/${path}`, query });
    const [now, before] = [uriOf('now'), uriOf('before')];
    refresh(now);
    refresh(before);
    return [Uri.from({ scheme, authority: id, path: `/${path}` }), now, before] as const;
  });
  await commands.executeCommand('vscode.changes', t('Undo: {0}', showPlainly(title, 60)), sides);
}

function lineOf({ path, kind, facts }: ShownChange): string {
  const word = { create: t('goes'), modify: t('as before'), attributes: t('as before'), delete: t('comes back'), replace: t('as before') }[
    kind
  ];
  return `${word}: ${showPlainly(path)}${facts.length === 0 ? '' : ` (${facts.map((fact) => showPlainly(fact)).join(', ')})`}`;
}

function restLine(count: number): readonly string[] {
  return count > 0 ? [t('(and {0} more)', count)] : [];
}

function countsOf({ created, changed, deleted }: ChangeList): string {
  return t('{0} created, {1} changed, {2} deleted', created.length, changed.length, deleted.length);
}
