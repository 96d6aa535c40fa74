/** `banksman mcp`: MCP over stdio, until the client closes stdin. */
import { version } from '#app/for-hosts';
import { type CommandOptions, operands } from '../command-line.ts';
import { withFollowedApp } from '../follow-agreement.ts';
import { stderrLog } from '../output.ts';

export async function runMcp(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  // Loaded on demand: the other commands start without the protocol's packages.
  const { serveMcpOverStdio } = await import('#hosts/mcp/serve-stdio');
  await withFollowedApp(options, (app, signal) => serveMcpOverStdio({ app, version, log: stderrLog, signal }));
  return 0;
}
