/** Ends the warm processes behind hooks that a test has started. */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/** Asks each for its end: it finds that its configuration is another one. */
export async function endServers(sockets: string, configFile: string): Promise<void> {
  if (!existsSync(sockets)) return;
  writeFileSync(configFile, `${readFileSync(configFile, 'utf8')}\n`);
  for (const name of readdirSync(sockets).filter((entry) => entry.endsWith('.sock'))) {
    const peer = connect(join(sockets, name));
    peer.on('error', () => undefined).write('{}\n');
    await once(peer.resume(), 'close');
  }
}
