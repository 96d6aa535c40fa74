/** Places that the command itself has made: what `mktemp` prints, a new name in the temporary directory that nobody else has used. */

/** SECURITY: it is refused in what a model wrote, so a place of that name is always a new one. */
export const freshMark = '\u{f0000}';
/** Stands for such a place. */
export const freshPlace = `/tmp/${freshMark}`;

/** Whether the path is such a place or below one. */
export function isFreshPlace(path: string): boolean {
  return path.startsWith(freshPlace) && !path.split('/').includes('..');
}

const template = /^(?:\/tmp\/|\.\/)?[\w.-]*XXX[\w.-]*$/;

/** What `mktemp` with these words prints, or undefined. */
export function madePlaces(args: readonly string[]): readonly string[] | undefined {
  const templates = args.filter((arg) => !arg.startsWith('-'));
  const known = args.every((arg) => template.test(arg) || /^(?:-[dqt]+|--directory|--quiet|--tmpdir|--suffix=[\w.-]+)$/.test(arg));
  if (!known || templates.length > 1) return undefined;
  const [name = ''] = templates;
  const isHere = name !== '' && !name.startsWith('/') && !args.some((arg) => /^-[dq]*t|^--tmpdir$/.test(arg));
  return [isHere ? name : freshPlace];
}
