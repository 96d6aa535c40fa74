/** `banksman service`: root's part of the service, and the service itself. */
import { serviceConfigFile, serviceSockets, serviceStateDir } from '#app/config/service-config';
import { version } from '#app/for-hosts';
import { Fault } from '#kernel/errors';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printText, stderrLog } from '../output.ts';
import { untilStopped } from '../session.ts';

export async function runService(words: readonly string[], options: CommandOptions): Promise<number> {
  const [name = ''] = operands(words, ['install, status, uninstall or run']);
  if (process.platform !== 'linux')
    throw new Fault('not_here', 'the service is for Linux; elsewhere Banksman runs embedded', { audience: 'user' });
  // Loaded on demand: no other command has anything to do with it.
  const host = await import('#hosts/service/index');
  const users = usersOf(options);
  if (name === 'install') host.installService(users, printText);
  else if (name === 'uninstall') await host.uninstallService(options.purge === true, printText);
  else if (name === 'status') return host.serviceStatus(options.sockets ?? serviceSockets, version, printText);
  else if (name === 'run') return run(host, users, options);
  else throw noSuchVerb('service', ['install', 'status', 'uninstall', 'run'], name);
  return 0;
}

function usersOf({ user: users = [] }: CommandOptions): readonly string[] {
  const wrong = users.find((user) => !/^[a-z0-9_][a-z0-9_.-]{0,31}$/i.test(user));
  if (wrong !== undefined) throw badUsage(`\`--user ${wrong}\` is no user's name`);
  return users;
}

async function run(host: typeof import('#hosts/service/index'), users: readonly string[], options: CommandOptions): Promise<number> {
  const { config: configFile = serviceConfigFile, state: stateDir = serviceStateDir, sockets = serviceSockets } = options;
  return untilStopped(async (signal) => {
    if (process.getuid?.() === 0) {
      return host.launchService({ users, sockets, stateDir, configFile, program: [process.execPath, process.argv[1] ?? ''], signal });
    }
    if (users.length > 0) throw badUsage('`--user` is for root, who opens the sockets');
    await host.runService({ configFile, stateDir, version, log: stderrLog, signal });
    return 0;
  });
}
