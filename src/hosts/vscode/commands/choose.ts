/** A quick pick that can start on an item and that can show, with the reason, what cannot be chosen now. */
import { type QuickPickItem, QuickPickItemKind, window } from 'vscode';
import { t } from '../l10n.ts';

export interface Choice extends QuickPickItem {
  /** Why it cannot be chosen. The row stays to be seen: what is simply missing looks like a fault of the list. */
  readonly blocked?: string;
}

export interface ChooseOptions {
  readonly title: string;
  readonly placeHolder: string;
  /** Has the focus when the list opens; default: the first. */
  readonly active?: Choice;
}

/**
 * undefined when the person gave up. While `items` are read the list is open and says that it is busy.
 * @throws what reading `items` throws
 */
export function choose<T extends Choice>(items: readonly T[] | Promise<readonly T[]>, options: ChooseOptions): Promise<T | undefined> {
  const pick = window.createQuickPick<T>();
  pick.title = options.title;
  pick.placeholder = options.placeHolder;
  pick.matchOnDescription = true;
  pick.busy = true;
  return new Promise<T | undefined>((resolve, reject) => {
    pick.onDidAccept(() => {
      const [chosen] = pick.selectedItems;
      // The editor has no rows that cannot be chosen: pressing one says why, and the list stays.
      if (chosen?.blocked !== undefined) pick.placeholder = t('Not possible: {0}', chosen.blocked);
      else if (chosen) resolve(chosen);
    });
    pick.onDidHide(() => resolve(undefined));
    pick.show();
    Promise.resolve(items).then((read) => {
      pick.items = inOrder(read);
      pick.busy = false;
      const active = read.find((item) => item === options.active);
      if (active) pick.activeItems = [active];
    }, reject);
  }).finally(() => pick.dispose());
}

/** What can be chosen first. */
function inOrder<T extends Choice>(items: readonly T[]): T[] {
  const possible = items.filter((item) => item.blocked === undefined);
  const blocked = items.filter((item) => item.blocked !== undefined);
  if (blocked.length === 0) return possible;
  // The editor's type makes no difference between a row and a line between rows.
  const line = { label: t('not possible'), kind: QuickPickItemKind.Separator } as T;
  return [...possible, line, ...blocked.map((item) => ({ ...item, label: `$(circle-slash) ${item.label}`, detail: item.blocked ?? '' }))];
}
