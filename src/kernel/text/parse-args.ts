/** What every command line of ours refuses alike: the agents' hook, and all else. */

/** What `util.parseArgs` refuses, in our words: its own advice is about positional arguments, which is seldom what went wrong. */
export function whyUnparsed(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'bad arguments';
  const option = /'(-[^\s']*)/.exec(thrown.message)?.[1];
  if (option === undefined) return thrown.message;
  if (/argument missing|argument is ambiguous/.test(thrown.message)) return `\`${option}\` needs a value`;
  if (/does not take an argument/.test(thrown.message)) return `\`${option}\` takes no value`;
  return `unknown option \`${option}\``;
}

const places = { config: 'file', state: 'directory', store: 'store', root: 'folder' } as const;

/** Of an option that says where something is and is empty, which would be the current directory or nothing at all; undefined: there is none. */
export function emptyPlace(given: { readonly [Place in keyof typeof places]?: string | undefined }): string | undefined {
  const found = Object.entries(places).find(([place]) => given[place as keyof typeof places] === '');
  return found && `\`--${found[0]}\` must name a ${found[1]}`;
}
