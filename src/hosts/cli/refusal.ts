/** What is refused, as opposed to what went wrong: exit status 2. */
import { Fault } from '#kernel/errors';

export class Refusal extends Fault {
  constructor(code: string, message: string, next?: string) {
    super(code, message, { audience: 'user', ...(next === undefined ? {} : { next }) });
    this.name = 'Refusal';
  }
}
