/** Pages of which a window has one each, whose code a window loads once a person asks for it: what loads at the start is what everybody waits for. */
import { commands, type Disposable } from 'vscode';

interface OnlyPage extends Disposable {
  reveal(): void;
}

interface OnlyPages<P> extends Disposable {
  /** The one that is open. */
  readonly page: P | undefined;
}

/** @param make loads the page and makes one; what it is given is called when the page has ended */
export function registerOnlyPage<P extends OnlyPage>(command: string, make: (ended: () => void) => Promise<P>): OnlyPages<P> {
  let page: P | undefined;
  let making: Promise<P> | undefined;
  let isOver = false;
  const load = async (): Promise<P> => {
    page = await make(() => {
      page = undefined;
    });
    return page;
  };
  const registered = commands.registerCommand(command, async () => {
    // Two presses before it is loaded open one.
    if (page === undefined)
      making ??= load().finally(() => {
        making = undefined;
      });
    const shown = page ?? (await making);
    if (shown === undefined) return;
    if (isOver) shown.dispose();
    else shown.reveal();
  });
  return {
    get page() {
      return page;
    },
    dispose() {
      isOver = true;
      registered.dispose();
      page?.dispose();
    },
  };
}
