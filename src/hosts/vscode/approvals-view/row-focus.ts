/** Where the keyboard goes on after a request was answered from its row: to that row while it waits still, else to the one in its place. */
import { requestIdFrom } from './approval-row.ts';

/** Who shows the rows. */
interface Rows {
  /** Asked before the answer. @returns what reveals the row, once the list shows what is left; false while the request is still in it */
  beside(id: string): () => boolean;
}

export class RowFocus {
  #rows: Rows | undefined;
  #wanted: (() => boolean) | undefined;

  follow(rows: Rows): void {
    this.#rows = rows;
  }

  /** Runs `act`, which a command does with the request. @param argument of the command: only a row of the list leads back to it */
  async around(argument: unknown, act: () => Promise<unknown>): Promise<void> {
    const id = typeof argument === 'object' ? requestIdFrom(argument) : undefined;
    const wanted = id === undefined ? undefined : this.#rows?.beside(id);
    await act();
    this.#wanted = wanted;
    this.drawn();
  }

  /** The list shows what is so now. */
  drawn(): void {
    if (this.#wanted?.() === true) this.#wanted = undefined;
  }
}
