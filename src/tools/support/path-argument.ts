/** A path as an argument: taken as it is, since a cleaned one would name another file. The path policy refuses what hides or controls. */
import * as z from 'zod';

export function pathArgument(description: string) {
  return z.string().min(1).max(4_096).meta({ description });
}
