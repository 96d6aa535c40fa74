/** `banksman hook`: the warm process behind coding agents' hooks, and installing them. The hook itself is `hosts/hook`, which `main.ts` goes to at once. */
import path from 'node:path';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printText, Refusal } from '../output.ts';
import { confirmed, stateDirOf, withApp } from '../session.ts';

/** After so long without a question the process ends, in ms. */
const idleMs = 20 * 60_000;

export async function runHook([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'serve') return serve(words, options);
  if (verb === 'install' && process.platform === 'win32')
    throw new Refusal('no_posix_shell', 'hooks are installed on Linux and macOS only: the line is one for a POSIX shell');
  if (verb === 'install' || verb === 'uninstall') return change(verb, words, options);
  throw badUsage(`\`hook\` has no \`${verb ?? ''}\``);
}

async function serve(words: readonly string[], options: CommandOptions): Promise<number> {
  const [socket = ''] = operands(words, ['SOCKET']);
  const { serveHooks } = await import('#hosts/hook/serve-hooks');
  const { removeDeadSockets, stampOf } = await import('#hosts/hook/places');
  await removeDeadSockets(stateDirOf(options));
  const stamp = () => stampOf(options);
  await withApp(options, (app, signal) => serveHooks(app, { socket: path.resolve(socket), idleMs, stamp, signal }));
  return 0;
}

async function change(verb: 'install' | 'uninstall', words: readonly string[], options: CommandOptions): Promise<number> {
  const [agent = ''] = operands(words, ['AGENT']);
  const { carryOut, kindIn, placesOf, plannedInstall, plannedUninstall } = await import('#hosts/hook/install-hook');
  const { worth } = await import('#hosts/hook/installations');
  const kind = kindIn(options);
  const places = placesOf(agent);
  if (kind === undefined) {
    for (const place of places) printText(`--${place.kind.padEnd(8)} ${place.file}\n           ${worth[place.kind]}`);
    throw badUsage('say which: the first is worth most', `\`banksman hook ${verb} ${agent} --${places[0]?.kind ?? 'user'}\``);
  }
  const state = stateDirOf(options);
  const project = process.cwd();
  const planned = verb === 'install' ? plannedInstall(agent, kind, project) : plannedUninstall(agent, kind, { project, state });
  if (planned.difference.length === 0) {
    printText(`${planned.file} is so already`);
    return 0;
  }
  const shown = [
    `${planned.file}${planned.after === undefined ? ' goes' : ''}:`,
    ...planned.difference,
    `What it is worth: ${worth[kind]}.`,
  ];
  // SECURITY: an agent must not take out, or put in, what judges it.
  await confirmed(`${verb}ing a hook`, shown, verb);
  carryOut(planned, state, verb === 'install');
  printText(`${verb}ed: ${planned.file}`);
  return 0;
}
