/** How a person arranges the pending list, and how they deny all that it shows. */
import { commands, type Memento, ProgressLocation, type QuickPickItem, window } from 'vscode';
import type { RequestRecord } from '#kernel/approval/request';
import type { AppSession } from '../app-session.ts';
import { toldCommand } from '../commands/told-command.ts';
import { viewId } from '../contributes/views.ts';
import type { Disposable } from '../disposables.ts';
import { faultWords } from '../fault-words.ts';
import { type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { notify } from '../notify.ts';
import { filterInWords, type RequestFilter } from './request-feed.ts';
import { deniedInWords, denyQuestion, type Grouping, isGrouping } from './request-groups.ts';
import type { RowFocus } from './row-focus.ts';
import type { ShownRows } from './shown-rows.ts';

export interface PendingCommandDeps {
  readonly session: AppSession;
  /** `user:alice`. */
  readonly person: string;
  readonly confirm: ConfirmDeps;
  /** Of this profile. */
  readonly memory: Memento;
  readonly focus: RowFocus;
}

interface PendingList {
  readonly shown: ShownRows;
  /** What it shows, as it is when it is asked for. */
  records(): readonly RequestRecord[];
  filter(): RequestFilter;
  redraw(): void;
}

const groupingKey = 'banksman.grouping';

/** As the person chose it last. */
export function groupingIn(memory: Memento): Grouping {
  const kept = memory.get<unknown>(groupingKey);
  return isGrouping(kept) ? kept : 'agent';
}

export function registerPendingCommands(deps: PendingCommandDeps, list: PendingList): Disposable[] {
  return [
    toldCommand('banksman.groupPending', async () => {
      const chosen = await chooseGrouping(groupingIn(deps.memory));
      if (chosen === undefined) return;
      await deps.memory.update(groupingKey, chosen);
      list.redraw();
      await commands.executeCommand(`${viewId}.focus`);
    }),
    commands.registerCommand('banksman.denyAll', async (argument: unknown) => {
      try {
        await denyAll(groupKeyIn(argument), list, deps);
      } catch (thrown) {
        void notify.error(t('Not denied: {0}', faultWords(thrown)));
      }
    }),
  ];
}

async function chooseGrouping(now: Grouping): Promise<Grouping | undefined> {
  const words: Readonly<Record<Grouping, readonly [label: string, description: string]>> = {
    agent: [t('By Agent'), t('who asks')],
    plan: [t('By Plan'), t('plans, held changes, single calls and reports apart')],
    none: [t('Not Grouped'), t('one list, the oldest first')],
  };
  const items = (['agent', 'plan', 'none'] as const).map((grouping): QuickPickItem & { readonly grouping: Grouping } => ({
    label: grouping === now ? `$(check) ${words[grouping][0]}` : words[grouping][0],
    description: words[grouping][1],
    grouping,
  }));
  return (await window.showQuickPick(items, { title: t('Group Pending Approvals') }))?.grouping;
}

/** From a group's row; undefined from anywhere else: then it is about the whole list. */
function groupKeyIn(argument: unknown): string | undefined {
  const key: unknown = typeof argument === 'object' && argument !== null && 'key' in argument ? argument.key : undefined;
  return typeof key === 'string' ? key : undefined;
}

/** SECURITY: any extension can run this; what denies is a click in a modal. What is asked meanwhile stays: only what stood in the list is denied. */
async function denyAll(key: string | undefined, { shown, records, filter }: PendingList, deps: PendingCommandDeps): Promise<void> {
  // With a problem nobody knows what waits.
  await deps.session.use(() => Promise.resolve());
  const group = key === undefined ? undefined : shown.group(key);
  const chosen = key === undefined ? records() : records().filter(({ id }) => group?.ids.includes(id));
  if (chosen.length === 0) return void notify.info(t('No request waits here.'));
  const narrowed = filterInWords(filter());
  const question = denyQuestion(chosen.toReversed(), {
    ...(group === undefined ? {} : { of: group.label }),
    ...(narrowed === undefined ? {} : { filter: narrowed }),
  });
  if (!(await confirmRun(question, deps.confirm))) return;
  const prompt = t('They are denied either way. Tell the agents why, or what to do instead?');
  const words =
    (await deps.confirm.dialogs.note({ title: question.title.replace(/\?$/, ''), prompt }).catch(() => undefined))?.trim() ?? '';
  const denied = await denyEach(chosen, words, deps);
  void notify.info(t('Banksman: {0}.', deniedInWords(denied, chosen.length - denied)));
}

/** How many were. One that ended meanwhile keeps no other from being denied. */
async function denyEach(chosen: readonly RequestRecord[], words: string, { session, person }: PendingCommandDeps): Promise<number> {
  const said = words === '' ? [] : [words];
  const title = t('Banksman: denying {0}', chosen.length);
  return window.withProgress({ location: ProgressLocation.Window, title }, () =>
    session.use(async ({ approvals }) => {
      let denied = 0;
      for (const { id } of chosen) if ((await approvals.deny(id, person, ...said)).ok) denied += 1;
      return denied;
    }),
  );
}
