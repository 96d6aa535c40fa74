/** The request id in a command's argument. Commands take an id at most, never a decision: any extension and any model can run them. */
import { requestIdPattern } from '#kernel/request';

/** From an id or a row of the tree; undefined for anything else. */
export function requestIdFrom(argument: unknown): string | undefined {
  try {
    const id = typeof argument === 'object' && argument !== null && 'id' in argument ? argument.id : argument;
    return typeof id === 'string' && requestIdPattern.test(id) ? id : undefined;
  } catch {
    // A getter of whoever made the object.
    return undefined;
  }
}
