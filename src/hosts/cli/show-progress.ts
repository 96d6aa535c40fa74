/** How far a call is, for a person who watches: on a terminal, or where it was asked for. Programs get the outcome alone. */

/** A command's output comes this way, too, a piece a line; all of it is in the result. */
const mostLines = 100;

export interface ProgressPlace {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** @returns what to tell of each step; nothing is told where nobody watches */
export function showProgress(verbose: boolean, place: ProgressPlace): (message: string) => void {
  if (!verbose && place.isTTY !== true) return () => undefined;
  let lines = 0;
  return (message) => {
    lines += 1;
    if (lines <= mostLines) place.write(`… ${message}\n`);
    else if (lines === mostLines + 1) place.write('… more of this is not shown; the result has it\n');
  };
}
