/** Commands of the palette as people meet them. */
import { commands, type Disposable } from 'vscode';
import { tellFault } from '../notices.ts';

/**
 * What goes wrong is said, with what to do next: never by the editor's own “resulted in an error”.
 * @param act `isLost`: a row was pressed that was being drawn anew just then, and the editor forgot which one it was (VS Code 1.139: a press brings
 * two arguments along, and of a row that it does not know at that moment the first is undefined)
 */
export function toldCommand(id: string, act: (argument: unknown, isLost: boolean) => unknown): Disposable {
  return commands.registerCommand(id, async (...given: readonly unknown[]) => {
    const [argument] = given;
    try {
      await act(argument, given.length > 1 && argument === undefined);
    } catch (thrown) {
      void tellFault(thrown);
    }
  });
}
