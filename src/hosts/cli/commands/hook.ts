/** `banksman hook`: the warm process behind coding agents' hooks. The hook itself is `hosts/hook`, which `main.ts` goes to at once. */
import path from 'node:path';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { withApp } from '../session.ts';

/** After so long without a question the process ends, in ms. */
const idleMs = 20 * 60_000;

export async function runHook([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'serve') return serve(words, options);
  throw badUsage(`\`hook\` has no \`${verb ?? ''}\``, 'banksman hook --help');
}

async function serve(words: readonly string[], options: CommandOptions): Promise<number> {
  const [socket = ''] = operands(words, ['SOCKET']);
  const { serveHooks } = await import('#hosts/hook/serve-hooks');
  const { stampOf } = await import('#hosts/hook/places');
  const stamp = () => stampOf(options);
  await withApp(options, (app, signal) => serveHooks(app, { socket: path.resolve(socket), idleMs, stamp, signal }));
  return 0;
}
