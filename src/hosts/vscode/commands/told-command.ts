/** Commands of the palette as people meet them. */
import { commands, type Disposable } from 'vscode';
import { tellFault } from '../notices.ts';

/** What goes wrong is said, with what to do next: never by the editor's own “resulted in an error”. */
export function toldCommand(id: string, act: (argument: unknown) => unknown): Disposable {
  return commands.registerCommand(id, async (argument: unknown) => {
    try {
      await act(argument);
    } catch (thrown) {
      void tellFault(thrown);
    }
  });
}
