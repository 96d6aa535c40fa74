/** What the command line loads of the service. */
import { connectService } from '#app/for-service';
import { toFault } from '#kernel/errors';
import { sockets } from './install.ts';

export { installService, uninstallService } from './install.ts';
export { launchService } from './launch.ts';
export { runService } from './run-service.ts';

/** Root can ask on each user's behalf, and a user on their own. Exit status 0: it answers. */
export async function serviceStatus(folder: string, version: string, say: (line: string) => void): Promise<number> {
  const users = sockets(folder);
  if (users.length === 0) {
    say(`no socket in ${folder}: the service is not installed, or for nobody yet`);
    return 1;
  }
  let failed = 0;
  for (const user of users) {
    try {
      const link = await connectService({ socket: `${folder}/${user}.sock`, version });
      say(`${user}: version ${link.welcome.version} answers, level ${link.welcome.level}, known as ${link.welcome.user}`);
      link.close();
    } catch (thrown) {
      failed += 1;
      say(`${user}: ${toFault(thrown).message}`);
    }
  }
  return failed === 0 ? 0 : 1;
}
