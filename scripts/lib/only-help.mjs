// Plain JavaScript for Node 20: this runs before the first `npm ci`.

/**
 * For a command that takes no arguments: asked for help it says what it does, and anything else is refused, which would be ignored otherwise.
 * @param {string} command as it is typed
 * @param {string} usage
 * @param {readonly string[]} words behind it
 * @returns {number | undefined} the exit status; undefined: go on
 */
export function onlyHelp(command, usage, words = process.argv.slice(2)) {
  if (words.length === 0) return undefined;
  const stray = words.find((word) => !['--help', '-h'].includes(word));
  if (stray === undefined) process.stdout.write(usage);
  else process.stderr.write(`${command}: unexpected \`${stray}\`; it takes no arguments\n\n${usage}`);
  return stray === undefined ? 0 : 1;
}
